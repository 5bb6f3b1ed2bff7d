import pg from 'pg';
import { readEvent } from '../../../schemas/events/codec.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import type { Product } from './product.js';

/** Runs statements in the PostgreSQL of a product. */
export const withLedger = async <Result>(
  { dataDir }: Pick<Product, 'dataDir'>,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> => {
  const url = await runningPostgresUrl(dataDir);
  if (url === null) throw new Error('The embedded PostgreSQL does not run');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

/** What somebody did to a subject, oldest first, as the names of events: `LinkBlocked`. On Kafka, of the last day. */
export const eventNamesBy = (
  product: Pick<Product, 'dataDir'>,
  actor: string,
  subject: string,
): Promise<readonly string[]> =>
  withLedger(product, async (client) => {
    const { rows } = await client.query<{ value: string }>(
      'SELECT value FROM log.events WHERE key = $1 ORDER BY record_offset',
      [subject],
    );
    return rows
      .map(({ value }) => readEvent(value))
      .filter((event) => event.actor === actor)
      .map(({ type }) => type.split('.')[1] ?? type);
  });
