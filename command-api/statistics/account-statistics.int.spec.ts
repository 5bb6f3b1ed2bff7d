import { expect } from 'chai';
import { transaction } from '../../ops/platform/postgres/pool.js';
import { accountStatsQuery, readStatsQuery } from '../../schemas/http/statistics.js';
import { newKey, setMeter } from '../testing/keys.js';
import { findAccountStats, readTopLinks } from './account-statistics.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';

const day = Date.parse('2026-05-20') / 86_400_000;

/** Fills the ranking by clicks from the rows of `projection_stats.links`. */
const fillLinksByClicks = `INSERT INTO projection_stats.links_by_clicks
  SELECT account, clicks, subject FROM projection_stats.links WHERE clicks > 0 ON CONFLICT DO NOTHING`;

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
    await pool.query(fillLinksByClicks);
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

const links = 1_200;
const days = 10;
/** The day of the newest quarters. */
const newest = days - 1;

/** The clicks of a link on a day, by account. */
const accounts: Readonly<Record<string, (link: number, day: number) => number>> = {
  'a few links have most clicks': (link, day) => Math.floor(5_000 / (link + 1)) + (day % 2),
  'all links have as many': (link, day) => (link + day) % 3,
  'other links were the most clicked ones before': (link, day) =>
    link < 600 ? (day < 5 ? 100 : 0) : day < 5 ? 0 : link % 50,
  'some links have as many as others had before': (link, day) =>
    link < 600 ? (day < 5 ? 10 : 0) : day === 7 ? 50 : 0,
  'only bots came': () => 0,
};

describe('command API: the most clicked links of a period', () => {
  const database = databaseFixture('top_links');

  for (const [account, clicksOn] of Object.entries(accounts)) {
    it(`finds them where ${account}`, async () => {
      const { pool } = database;
      const rows = Array.from({ length: links * days }, (_, index) => {
        const [link, day] = [Math.floor(index / days), index % days];
        const subject = `${account}-${(link * 7) % links}`;
        return { subject, day, clicks: clicksOn(link, day) };
      });
      await pool.query(
        `INSERT INTO projection_stats.days
         SELECT subject, day, $2, clicks, 1, 0, '[]', '[]'
         FROM jsonb_to_recordset($1) AS t (subject text, day integer, clicks integer)
         WHERE day < $3`,
        [JSON.stringify(rows), account, newest],
      );
      await pool.query(
        `INSERT INTO projection_stats.links
           (subject, account, clicks, bots, day, uniques, series, document)
         SELECT subject, $2, sum(clicks), 1, $3, 0,
           '[90,' || sum(clicks) FILTER (WHERE day = $3) || ',1]', '[]'
         FROM jsonb_to_recordset($1) AS t (subject text, day integer, clicks integer) GROUP BY subject`,
        [JSON.stringify(rows), account, newest],
      );
      await pool.query(fillLinksByClicks);
      for (const period of ['0 10', '0 5', '5 10', '7 8', '9 10', '10 11']) {
        const [from = 0, to = 0] = period.split(' ').map(Number);
        const clicksOf = new Map<string, number>();
        for (const { subject, day, clicks } of rows) {
          if (clicks === 0 || day < from || day >= to) continue;
          clicksOf.set(subject, (clicksOf.get(subject) ?? 0) + clicks);
        }
        const sorted = [...clicksOf]
          .map(([subject, clicks]) => ({ subject, clicks }))
          .sort((a, b) => b.clicks - a.clicks || (a.subject < b.subject ? -1 : 1));
        for (const limit of [1, 20, 200]) {
          const found = await transaction(pool, (tx) =>
            readTopLinks(tx, { account, domain: null, days: [from, to] }, limit),
          );
          expect(found, `${period}, ${limit}`).to.deep.equal(sorted.slice(0, limit));
        }
      }
    });
  }
});
