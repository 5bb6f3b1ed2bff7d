import type { Queryable } from '../platform/postgres/pool.js';

/**
 * PostgreSQL's time, in milliseconds: the one clock that the ledger decides by, on however many
 * nodes. Asked for after the rows are locked, so that it is never older than what they hold.
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
