import { ledgerNow } from '../../ops/ledger/clock.js';
import type { Queryable } from '../../ops/platform/postgres/pool.js';

/** PostgreSQL's time without asking for it: the edges' own clocks may differ by any amount. */
export interface DatabaseClock {
  /** The bounds between which it is now, in milliseconds; `null` before it was asked once. */
  now(): { readonly earliest: number; readonly latest: number } | null;
  ask(): Promise<void>;
}

/** `now` is in milliseconds, of a clock that never goes back. */
export const createDatabaseClock = (
  pool: Queryable,
  now: () => number = () => performance.now(),
): DatabaseClock => {
  let ahead: { readonly least: number; readonly most: number } | null = null;
  return {
    now: () =>
      ahead === null ? null : { earliest: now() + ahead.least, latest: now() + ahead.most },
    async ask() {
      const askedAt = now();
      const told = (await ledgerNow(pool)).getTime();
      // It was told at some time since it was asked for, cut to the millisecond.
      ahead = { least: told - now(), most: told + 1 - askedAt };
    },
  };
};
