import type { Queryable } from '../platform/postgres/pool.js';

/**
 * PostgreSQL's time, to the millisecond: the only clock that the ledger uses, on all nodes. Read it
 * after the rows are locked, so that it is never older than their state.
 */
export const ledgerNow = async (client: Queryable): Promise<Date> => {
  const { rows } = await client.query<{ now: Date }>({
    name: 'ledger-now',
    text: `SELECT date_trunc('milliseconds', clock_timestamp()) AS now`,
  });
  const now = rows[0]?.now;
  if (!now) throw new Error('PostgreSQL told no time');
  return now;
};

/** How often PostgreSQL's clock is read, in milliseconds. */
export const readClockMs = 5_000;
/**
 * So many readings must agree before a clock that went ahead is believed: more than a minute, so that
 * every window that was open before is over by then.
 */
const readings = 14;
/** What a statement may take from its sending to its reading of the clock. */
const toleranceMs = 3_000;

/**
 * A second opinion on PostgreSQL's clock: the latest time that it can be, from what that clock said in the
 * last minute and a clock of our own that never jumps. It only delays: a statement that takes the earlier of
 * both is not misled by a clock that is ahead for less than a minute.
 */
export class LedgerClock {
  /** By how many milliseconds PostgreSQL's clock was ahead of ours, at the last readings. */
  readonly #ahead: number[] = [];

  /** @param clock milliseconds of a clock that never goes back */
  constructor(
    private readonly postgres: Queryable,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** To be sent with a statement; `null`, which `least` ignores, before the first reading. */
  latest(): Date | null {
    if (this.#ahead.length === 0) return null;
    return new Date(this.clock() + Math.min(...this.#ahead) + toleranceMs);
  }

  /** What PostgreSQL's clock has just told, but no later than `latest`. */
  believed(told: Date): Date {
    const latest = this.latest();
    return latest !== null && latest < told ? latest : told;
  }

  /**
   * Reads PostgreSQL's clock; to be called every `readClockMs`.
   *
   * @returns whether that clock may have gone back since the last reading
   */
  async read(): Promise<boolean> {
    const askedAt = this.clock();
    const told = (await ledgerNow(this.postgres)).getTime();
    const before = this.#ahead.at(-1) ?? Infinity;
    this.#ahead.push(told - askedAt);
    if (this.#ahead.length > readings) this.#ahead.shift();
    return told - this.clock() < before - toleranceMs;
  }
}
