import { readEvent } from '../../../schemas/events/codec.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { createLogger } from '../../platform/logging.js';
import { createPool, type Pool } from '../../platform/postgres/pool.js';

/** A pool on the embedded PostgreSQL that runs in this data directory. */
export const openProductPool = async (dataDir: string): Promise<Pool> => {
  const url = await runningPostgresUrl(dataDir);
  if (url === null) throw new Error(`no PostgreSQL runs in ${dataDir}`);
  const logger = createLogger('silent');
  return createPool({ url, name: 'test', max: 4, deadlines: 'patient', logger });
};

/** Runs statements in the PostgreSQL of a product. */
export const withLedger = async <Result>(
  { dataDir }: { readonly dataDir: string },
  work: (pool: Pool) => Promise<Result>,
): Promise<Result> => {
  const pool = await openProductPool(dataDir);
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
};

/** Names of the events of a subject by this actor, oldest first: `LinkBlocked`. On Kafka, of the last day. */
export const eventNamesBy = (
  product: { readonly dataDir: string },
  actor: string,
  subject: string,
): Promise<readonly string[]> =>
  withLedger(product, async (pool) => {
    const { rows } = await pool.query<{ value: string }>(
      'SELECT value FROM log.events WHERE key = $1 ORDER BY record_offset',
      [subject],
    );
    return rows
      .map(({ value }) => readEvent(value))
      .filter((event) => event.actor === actor)
      .map(({ type }) => type.split('.')[1] ?? type);
  });
