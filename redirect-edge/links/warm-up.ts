import { DutyCycle } from '../../ops/platform/concurrency/periodic.js';
import type { Queryable } from '../../ops/platform/postgres/pool.js';
import type { LinkCache, LinkReader } from './link-reader.js';

/** The number of table pages in a query: about 250 links. */
const pagesPerQuery = 8;
/** An upper bound of the memory for these links (bytes). */
const bytesPerQuery = 1_024 * 1_024;

/**
 * Fills the cache after a start, the most recently created or changed links first. Otherwise each link would be read at
 * its first visit, which costs three times as much as the visit. It pauses between queries, because requests have
 * priority.
 *
 * Rows are selected by `ctid`: the newest are at the end of the table, and no index is needed.
 */
export const warmUp = async (options: {
  readonly postgres: Queryable;
  readonly links: Pick<LinkReader, 'readAhead'>;
  readonly cache: Pick<LinkCache, 'room'>;
  readonly signal: AbortSignal;
}): Promise<void> => {
  const { postgres, links, cache, signal } = options;
  const { rows: sizes } = await postgres.query<{ pages: number }>(
    `SELECT pg_relation_size('projection_redirects.links') / current_setting('block_size')::integer AS pages`,
  );
  const dutyCycle = new DutyCycle(signal);
  let end = sizes[0]?.pages ?? 0;
  while (end > 0 && cache.room > bytesPerQuery && !signal.aborted) {
    const begin = Math.max(0, end - pagesPerQuery);
    const { rows } = await postgres.query<{ subject: string }>(
      'SELECT subject FROM projection_redirects.links WHERE ctid >= $1::tid AND ctid < $2::tid',
      [`(${begin},0)`, `(${end},0)`],
    );
    await links.readAhead(rows.map(({ subject }) => subject));
    await dutyCycle.pause();
    end = begin;
  }
};
