import { BoundedMap } from '../../ops/platform/bounded-map.js';

const forgetAfterMs = 600_000;
const maxNames = 50_000;

/**
 * How many tries failed lately, by name: of a network, or of a link. It decides who waits for whom, and
 * refuses nobody: that is the throttle's, which is exact.
 */
export class FailedTries {
  readonly #counts = new BoundedMap<string, { readonly count: number; readonly at: number }>(
    maxNames,
  );

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** 0 when the last one is ten minutes old. */
  of(name: string): number {
    const known = this.#counts.get(name);
    return known && this.now() - known.at < forgetAfterMs ? known.count : 0;
  }

  note(names: readonly string[]): void {
    for (const name of names) this.#counts.set(name, { count: this.of(name) + 1, at: this.now() });
  }
}
