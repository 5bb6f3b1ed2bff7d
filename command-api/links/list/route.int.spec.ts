import { expect } from 'chai';
import { recordHistory } from '../../../ops/test/support/ledger-links.js';
import { redirects } from '../../../projectors/links/projection.js';
import { feed } from '../../../projectors/testing/harness.js';
import { listLinksQuery } from '../../../schemas/http/list-links.js';
import type { LinkPage } from '../../../schemas/http/links.js';
import { maxPageBytes } from '../../../schemas/http/paging.js';
import { at, created } from '../../../schemas/testing/events.js';
import { respondWithList } from './route.js';
import { databaseFixture, ledgerFixture } from '../../../ops/test/support/fixtures.js';

describe('command API: pages of links', () => {
  const database = databaseFixture('link_pages');
  const node = ledgerFixture(database);

  const read = async (query: object): Promise<{ bytes: number; page: LinkPage }> => {
    const { pool, outbox } = node;
    const deps = { pool, outbox, shortUrlHost: 'https://sho.rt' };
    const request = { ...listLinksQuery.parse(query), account: 'acme' };
    const reply = await respondWithList(deps, request, at(10_000), (details) => details);
    if (reply.type !== 'json') throw new Error(`respondWithList() returned ${reply.status}`);
    const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body);
    return { bytes: Buffer.byteLength(text), page: JSON.parse(text) as LinkPage };
  };

  it('end before a link that would make them too large, and continue with it', async () => {
    const subjects = Array.from({ length: 250 }, (_, index) => `large-${100 + index}`);
    const text = (length: number): string => '🏕'.repeat(length);
    const texts = {
      ...{ title: text(200), note: text(2_000) },
      tags: Array.from({ length: 20 }, (_, index) => text(48) + String(10 + index)),
    };
    const events = subjects.map((subject, index) =>
      created(subject, texts, { account: 'acme', time: at(index) }),
    );
    await recordHistory(node, ...events);
    await feed(database.pool, redirects).events(...events);

    const found: string[] = [];
    for (let after: string | null = null, pages = 1; ; pages += 1) {
      const { bytes, page } = await read({ limit: '100', ...(after !== null && { after }) });
      expect(bytes).to.be.at.most(maxPageBytes);
      found.push(...page.links.map(({ shortCode }) => shortCode));
      after = page.next;
      if (after === null) {
        expect(pages).to.equal(7);
        break;
      }
      expect(bytes).to.be.above(0.95 * maxPageBytes);
    }
    expect(found).to.deep.equal(subjects.reverse());
  });

  it('have the clicks of the last 30 days, with those of the newest quarter hour', async () => {
    const { pool } = database;
    const events = ['daily-clicked', 'daily-silent'].map((subject, index) =>
      created(subject, {}, { account: 'acme', time: at(index) }),
    );
    await recordHistory(node, ...events);
    await feed(pool, redirects).events(...events);
    const today = Math.floor(at(10_000).getTime() / 86_400_000);
    await pool.query(
      `INSERT INTO projection_stats.days
       SELECT 'daily-clicked', $1 - ago, 'acme', ago + 1, 9, 0, '[]', '[]' FROM unnest('{-1,0,29,30}'::integer[]) ago`,
      [today],
    );
    const newest = `INSERT INTO projection_stats.links
      (subject, account, clicks, bots, day, uniques, series, document)
      VALUES ($1, 'acme', 99, 9, $2, 0, $3, '[]')`;
    await pool.query(newest, ['daily-clicked', today, '[90,5,3]']);
    await pool.query(newest, ['daily-silent', today, '[]']);
    const none = Array.from({ length: 30 }, () => 0);
    const { page } = await read({ search: 'daily-', dailyClicks: '1' });
    expect(page.links.map((link) => [link.shortCode, link.dailyClicks])).to.deep.equal([
      ['daily-silent', none],
      ['daily-clicked', [30, ...none.slice(2), 6]],
    ]);
    expect((await read({ search: 'daily-' })).page.links[0]).not.to.have.property('dailyClicks');
  });
});
