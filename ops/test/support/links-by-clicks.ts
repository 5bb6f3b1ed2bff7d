import type { Queryable } from '../../platform/postgres/pool.js';

/** Where the links of `projection_stats.codes` stand by their clicks, once a test has made rows there. */
export const fillLinksByClicks = async (postgres: Queryable): Promise<void> => {
  await postgres.query(
    `INSERT INTO projection_stats.links_by_clicks
     SELECT account, clicks, code FROM projection_stats.codes WHERE clicks > 0 ON CONFLICT DO NOTHING`,
  );
};
