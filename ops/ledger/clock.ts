import type { Queryable } from '../platform/postgres/pool.js';

/**
 * PostgreSQL's time, to the millisecond: the only clock of the ledger, on all nodes. Read it after the rows are locked,
 * so that it is never older than their state.
 */
export const ledgerNow = async (client: Queryable): Promise<Date> => {
  const { rows } = await client.query<{ now: Date }>({
    name: 'ledger-now',
    text: `SELECT date_trunc('milliseconds', clock_timestamp()) AS now`,
  });
  const now = rows[0]?.now;
  if (!now) throw new Error('SELECT clock_timestamp() returned no row');
  return now;
};

/** How often PostgreSQL's clock is read (ms). */
export const readClockMs = 5_000;
/**
 * Readings that must agree before a clock that jumped forward is trusted: more than a minute, so that every window
 * that was open before has ended by then.
 */
const readings = 14;
/** Maximum time between sending a statement and its reading of the clock (ms). */
const toleranceMs = 3_000;

/**
 * An upper bound of PostgreSQL's clock, from its readings of the last minute and a monotonic clock of this process. A
 * statement that uses the earlier of both is unaffected by a clock that is ahead for less than a minute.
 */
export class LedgerClock {
  /** PostgreSQL's clock minus the clock of this process (ms), at the last readings. */
  readonly #offsets: number[] = [];

  /** @param clock a monotonic clock (ms) */
  constructor(
    private readonly postgres: Queryable,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** Returns a parameter of statements; `null`, which `least` ignores, before the first reading. */
  upperBound(): Date | null {
    if (this.#offsets.length === 0) return null;
    return new Date(this.clock() + Math.min(...this.#offsets) + toleranceMs);
  }

  /** `databaseTime`, which PostgreSQL has just returned, but at most `upperBound`. */
  clampedNow(databaseTime: Date): Date {
    const bound = this.upperBound();
    return bound !== null && bound < databaseTime ? bound : databaseTime;
  }

  /**
   * Reads PostgreSQL's clock; to be called every `readClockMs`.
   *
   * @returns whether that clock may have gone back since the last reading
   */
  async read(): Promise<boolean> {
    const sentAt = this.clock();
    const databaseTime = (await ledgerNow(this.postgres)).getTime();
    const lastOffset = this.#offsets.at(-1) ?? Infinity;
    this.#offsets.push(databaseTime - sentAt);
    if (this.#offsets.length > readings) this.#offsets.shift();
    return databaseTime - this.clock() < lastOffset - toleranceMs;
  }
}
