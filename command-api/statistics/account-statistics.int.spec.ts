import { expect } from 'chai';
import { fillLinksByClicks } from '../../ops/test/support/links-by-clicks.js';
import { accountStatsQuery, readStatsQuery } from '../../schemas/http/statistics.js';
import { newKey, setMeter } from '../testing/keys.js';
import { findAccountStats } from './account-statistics.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';

const day = Date.parse('2026-05-20') / 86_400_000;

describe('command API: statistics of an account', () => {
  const database = databaseFixture('accounts');
  const node = ledgerFixture(database);

  const statsOf = (account: string) => {
    const query = { include: 'links', from: '2026-05-20', to: '2026-05-22' };
    const request = readStatsQuery(accountStatsQuery, query, new Date());
    if ('refused' in request) throw new Error(request.refused);
    return findAccountStats(node.pool, node.outbox, account, request);
  };

  it('has no list of links for more than 200,000 link-days', async () => {
    const { pool } = database;
    await pool.query(
      `INSERT INTO projection_stats.days
       SELECT 'subject-' || link, $1 + link % 2, 'many', 1, 0, 0, '[0,1,0]', '[]'
       FROM generate_series(1, 199999) link`,
      [day],
    );
    // The newest quarter of a day with clicks, of a day without clicks so far, and of bots.
    const newest = `INSERT INTO projection_stats.links
      (subject, account, clicks, bots, day, uniques, series, document)
      VALUES ($1, 'many', 9, 9, $2, 0, $3, '[]')`;
    await pool.query(newest, ['subject-2', day, '[90,5,0]']);
    await pool.query(newest, ['subject-bots', day, '[90,0,5]']);
    await pool.query(newest, ['subject-later', day + 2, '[0,5,0]']);
    await pool.query(newest, ['subject-new', day, '[90,5,0]']);
    await fillLinksByClicks(pool);
    // There are 200,000 link-days, of links that do not exist.
    expect(await statsOf('many')).to.deep.include({ links: [] });
    await pool.query(newest, ['subject-newer', day + 1, '[90,1,0]']);
    expect(await statsOf('many')).to.equal('tooManyLinks');
    expect(await statsOf('few')).to.deep.include({ links: [] });
  });

  it('counts the links of operators and of its keys', async () => {
    const key = await newKey(node);
    await setMeter(node, key, 'all_links = 3');
    await database.pool.query(
      `INSERT INTO ledger.links (subject, key_id, account, sequence, last_event_at, created_at)
       SELECT subject, 'operator', account, 1, now(), now()
       FROM (VALUES ('a', $1), ('b', $1), ('c', 'another')) AS links (subject, account)`,
      [key.account],
    );
    expect(await statsOf(key.account)).to.include({ linkCount: 5 });
  });
});
