import type { Queryable } from '../../platform/postgres/pool.js';

/** Fills the ranking by clicks from the rows of `projection_stats.codes` that a test inserted. */
export const fillLinksByClicks = async (postgres: Queryable): Promise<void> => {
  await postgres.query(
    `INSERT INTO projection_stats.links_by_clicks
     SELECT account, clicks, code FROM projection_stats.codes WHERE clicks > 0 ON CONFLICT DO NOTHING`,
  );
};
