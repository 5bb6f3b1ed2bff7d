import { expect } from 'chai';
import { transaction } from '../../ops/platform/postgres/pool.js';
import { fillLinksByClicks } from '../../ops/test/support/links-by-clicks.js';
import { readTopLinks } from './account-statistics.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

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
      await fillLinksByClicks(pool);
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
