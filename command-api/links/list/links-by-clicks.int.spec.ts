import { expect } from 'chai';
import { fillLinksByClicks } from '../../../ops/test/support/links-by-clicks.js';
import { transaction } from '../../../ops/platform/postgres/pool.js';
import { nextByClicks, type ClickedLink } from './links-by-clicks.js';
import { databaseFixture } from '../../../ops/test/support/fixtures.js';

const most = 3_000;

describe('command API: links in the order of clicks', () => {
  const database = databaseFixture('links-by-clicks');

  before(async () => {
    // Many links have few clicks, and each number occurs twice.
    await database.pool.query(
      `INSERT INTO projection_stats.links
         (subject, account, clicks, bots, last_accessed, day, uniques, series, document, visitors, visitors_before)
       SELECT md5(i::text), 'account', CASE WHEN i > 2 * $1 THEN i % 40 ELSE i / 2 END, 0, now(), 20000, 1,
         '[0,1,0]', '[[],[],[],[],[],[],[]]', '', ''
       FROM generate_series(0, 2 * $1 + 2000) i`,
      [most],
    );
    await fillLinksByClicks(database.pool);
  });

  it('are read page by page, each once', async () => {
    const { rows } = await database.pool.query<ClickedLink>(
      `SELECT subject, clicks FROM projection_stats.links WHERE clicks > 0 ORDER BY clicks DESC, subject`,
    );
    const read: ClickedLink[] = [];
    await transaction(database.pool, async (tx) => {
      for (;;) {
        const page = await nextByClicks(tx, 'account', read.at(-1) ?? null, 70);
        if (page.length === 0) break;
        read.push(...page.map(({ subject, clicks }) => ({ subject, clicks })));
      }
    });
    expect(read).to.deep.equal(rows);
  });
});
