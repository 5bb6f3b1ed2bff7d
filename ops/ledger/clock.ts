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
