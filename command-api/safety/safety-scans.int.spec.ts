import { expect } from 'chai';
import { createLogger } from '../../ops/platform/logging.js';
import { createPool } from '../../ops/platform/postgres/pool.js';
import { readLiveLinks, oldestPosition, type ScanPosition } from './safety-scans.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

describe('ledger: live links that are checked again', () => {
  const database = databaseFixture('safety-scans');

  it('are read page by page with the index, even if the table was empty at first', async () => {
    // One connection, because plans are cached per connection.
    const logger = createLogger('silent');
    const pool = createPool({ url: database.url, name: 'scan', max: 1, logger });
    const page = async () => (await readLiveLinks(pool, oldestPosition, 0, 500)).links;
    try {
      // PostgreSQL caches a generic plan after five executions.
      for (let round = 0; round < 10; round += 1) expect(await page()).to.be.empty;
      await database.pool.query(
        `INSERT INTO projection_redirects.links (subject, status, url, account, created_at, sequence)
         SELECT 'link-' || n, 'active', 'https://example.com/', 'default',
                clock_timestamp() - n * interval '1 second', 1
         FROM generate_series(1, 20000) AS n`,
      );
      await pool.query('BEGIN');
      const links = await page();
      const { rows } = await pool.query<{ read: number }>(
        `SELECT seq_tup_read + idx_tup_fetch AS "read" FROM pg_stat_xact_user_tables
         WHERE relid = 'projection_redirects.links'::regclass`,
      );
      await pool.query('COMMIT');
      expect(links.map(({ subject }) => subject))
        .to.include('link-20000')
        .and.to.have.length(500);
      expect(rows[0]?.read).to.be.within(500, 1_000);
    } finally {
      await pool.end();
    }
  });

  it('end a page when their options have 500 KB, and continue after it', async () => {
    await database.pool.query('TRUNCATE projection_redirects.links');
    await database.pool.query(
      `INSERT INTO projection_redirects.links
         (subject, status, url, account, created_at, sequence, options)
       SELECT 'link-' || n, 'active', 'https://example.com/', 'default',
              timestamptz '2026-05-20' + n * interval '1 second', 1,
              CASE WHEN n > 2 THEN jsonb_build_object('rules', jsonb_build_array(repeat('x', 60000))) END
       FROM generate_series(0, 19) AS n`,
    );
    const pages: number[] = [];
    let position: ScanPosition = oldestPosition;
    for (;;) {
      const { links, hasMore } = await readLiveLinks(database.pool, position, 0, 500);
      pages.push(links.length);
      position = links.at(-1) ?? position;
      if (!hasMore) break;
    }
    expect(pages).to.deep.equal([12, 8]);
  });
});
