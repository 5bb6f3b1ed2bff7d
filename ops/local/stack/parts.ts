import type { Logger } from '../../platform/logging.js';
import { keepRunning } from '../process/keep-running.js';
import type { Server } from '../process/server.js';
import { serviceKinds, type ServiceKind } from './topology.js';

const serverKinds = ['kafka', 'postgres', 'redis'] as const;

export type PartKind = ServiceKind | (typeof serverKinds)[number];

export const partKinds: readonly PartKind[] = [...serviceKinds, ...serverKinds];

export type Pids = Readonly<Record<PartKind, readonly number[]>>;

const byKind = <Value>(make: (kind: PartKind) => Value): Record<PartKind, Value> =>
  Object.fromEntries(partKinds.map((kind) => [kind, make(kind)])) as Record<PartKind, Value>;

/** What is left of the 10 s when the services, which have 6, are gone. */
const serversEndWithinMs = 3_000;

/** A part is ready again, as another process. */
export interface Restarted {
  readonly service: PartKind;
  readonly index: number;
  readonly pid: number;
}

/** The processes that a stack has started, of each kind in its order. */
export class Parts {
  readonly #parts = byKind((): Server[] => []);
  readonly #stopping = new AbortController();

  /** Adds a part once it has started; one that fails to start has ended. */
  async add<Part extends Server>(
    kind: PartKind,
    index: number,
    starting: Promise<Part>,
  ): Promise<Part> {
    const part = await starting;
    this.#parts[kind][index] = part;
    return part;
  }

  #of(kind: PartKind): readonly Server[] {
    // Without the holes of those that did not start.
    return this.#parts[kind].flat();
  }

  pids(): Pids {
    return byKind((kind) => this.#of(kind).map(({ pid }) => pid));
  }

  /** Starts each part again whenever it dies, until `stop`. */
  keepRunning(logger: Logger, onRestarted: (restarted: Restarted) => void): void {
    const { signal } = this.#stopping;
    for (const kind of partKinds) {
      for (const [index, part] of this.#of(kind).entries()) {
        keepRunning(part, {
          name: `${kind} ${index}`,
          signal,
          onRestarted: () => {
            onRestarted({ service: kind, index, pid: part.pid });
          },
          logger,
        });
      }
    }
  }

  /** Ends the services first, all at once: what they still have they ship to the servers. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const services = serviceKinds.flatMap((kind) => this.#of(kind));
    await Promise.all(services.map((part) => part.stop()));
    const servers = serverKinds.flatMap((kind) => this.#of(kind));
    const hurry = setTimeout(() => {
      // What was acknowledged outlives it: the next start recovers it.
      for (const server of servers) server.kill('SIGKILL');
    }, serversEndWithinMs);
    await Promise.all(servers.map((server) => server.stop()));
    clearTimeout(hurry);
  }
}
