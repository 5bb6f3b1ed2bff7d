import { expect } from 'chai';
import type { AccountQuery } from '../../command-api/domain/link-query.js';
import { listLinks } from '../../command-api/reports/link-list.js';
import { testDatabase, type TestDatabase } from '../../ops/test/support/database.js';
import { testNode, type TestNode } from '../../ops/test/support/node.js';
import { listLinksQuery } from '../../schemas/http/list-links.js';
import { blocksOfSegment, linksPerBlock, mergedAtOnce } from '../../schemas/search/postings.js';
import { indexForSearch, indexingMemory } from './indexer.js';

/** Three links are made at a time, and stay together. */
const ofOne = 3 * Math.ceil((blocksOfSegment * linksPerBlock) / 3);
const links = (2 * mergedAtOnce + 3) * ofOne + 900;
const inAHurry = { take: () => Promise.resolve() };
const account = 'large';
/** Little is found by looking at the newest links. */
const effort = {
  ...{ examined: 1_000, tagged: 1_000, steps: 10, blocks: 100 },
  ...{ few: 10, clicked: 10, accounts: 1 },
};

describe('projectors: the index for searches', function () {
  this.timeout(180_000);

  let database: TestDatabase;
  let node: TestNode;

  before(async () => {
    database = await testDatabase('search');
    node = await testNode(database);
    await node.pool.query(`
      INSERT INTO ledger.api_keys
        (id, name, plan, account, status, created_at, sequence, last_event_at, scopes, ancestors)
      VALUES ('key', 'key', 'PRO', '${account}', 'active', now(), 1, now(), '{}', '{}');
      INSERT INTO ledger.key_meters (key_id, all_links) VALUES ('key', ${links});
      INSERT INTO projection_redirects.links (code, status, url, account, created_at, sequence, tags)
      SELECT 'Code' || i, CASE WHEN i % 7 = 0 THEN 'disabled' ELSE 'active' END,
        'https://example.com/' || md5(i::text), '${account}',
        timestamptz '2026-01-01' + (i - 1) / 3 * interval '1 second', 1,
        CASE WHEN i % 5 = 0 THEN '["fifth"]'::jsonb END
      FROM generate_series(1, ${links}) i;
      INSERT INTO projection_redirects.link_tags (account, tag, created_at, code)
      SELECT account, 'fifth', created_at, code FROM projection_redirects.links WHERE tags IS NOT NULL;
      UPDATE projection_redirects.links SET disabled = true WHERE status = 'disabled';
      INSERT INTO ledger.links (code, key_id, account, disabled, sequence, last_event_at)
      SELECT code, 'key', account, status = 'disabled', 1, created_at FROM projection_redirects.links`);
  });

  after(async () => {
    await node.close();
    await database.drop();
  });

  const indexAll = async (): Promise<number> => {
    let all = 0;
    for (let made = 1; made > 0; all += made) {
      made = await indexForSearch(node.pool, node.log, undefined, undefined, inAHurry);
    }
    return all;
  };

  interface Segments {
    readonly level: number;
    readonly isOfChanges: boolean;
    readonly count: number;
    readonly links: number;
  }

  const segments = async (): Promise<readonly Segments[]> => {
    const { rows } = await node.pool.query<Segments>(
      `SELECT level, first IS NULL AS "isOfChanges", count(*) AS count, sum(links) AS links
       FROM search.segments GROUP BY 1, 2 ORDER BY 2, 1`,
    );
    return rows;
  };

  /** The codes that a search finds, on as many pages as it takes, and how many these are. */
  const find = async (
    asked: object,
    of = account,
  ): Promise<{ codes: readonly string[]; pages: number }> => {
    const query: AccountQuery = { ...listLinksQuery.parse(asked), account: of };
    const codes: string[] = [];
    let pages = 0;
    let after = null;
    do {
      const request = { query, after, limit: 20, now: new Date() };
      const page = await listLinks(node.pool, node.outbox, request, effort);
      codes.push(...page.links.map(({ link }) => link.link.code));
      after = page.next;
      pages += 1;
    } while (after !== null);
    return { codes, pages };
  };

  const naive = async (part: string): Promise<readonly string[]> => {
    const { rows } = await node.pool.query<{ code: string }>(
      `SELECT code FROM projection_redirects.links
       WHERE position($1 IN lower(concat_ws(' ', code, url, title))) > 0
       ORDER BY created_at DESC, code DESC`,
      [part],
    );
    return rows.map(({ code }) => code);
  };

  const expectFound = async (...parts: readonly string[]): Promise<void> => {
    for (const part of parts) {
      expect((await find({ search: part })).codes, part).to.deep.equal(await naive(part));
    }
  };

  const ofAll: readonly Segments[] = [
    { level: 0, isOfChanges: false, count: 3, links: 3 * ofOne },
    { level: 1, isOfChanges: false, count: 2, links: 2 * mergedAtOnce * ofOne },
  ];

  it('is made of whole segments of a large account, and finds each link of them', async () => {
    expect(await indexAll()).to.equal(2 * mergedAtOnce + 3);
    expect(await segments()).to.deep.equal(ofAll);
    const parts = Array.from({ length: 40 }, (_, index) => `code${900 + index * 900}`);
    await expectFound(...parts, 'c4ca4238a0b923820dcc509a6f75849b', '0b92', 'e123', 'nowhere');
    const rare = await find({ search: 'CODE77', status: 'disabled' });
    expect(rare.codes).to.deep.equal(
      (await naive('code77')).filter((code) => Number(code.slice(4)) % 7 === 0),
    );
    const tagged = await find({ search: 'code77', tag: 'fifth' });
    expect(tagged.codes).to.deep.equal(
      (await naive('code77')).filter((code) => Number(code.slice(4)) % 5 === 0),
    );
    expect((await find({ search: 'nowhere-at-all', tag: 'fifth' })).pages).to.equal(1);
    expect((await find({ search: 'nowhere-at-all' })).pages).to.equal(1);
    expect((await find({ search: '!!!' })).pages).to.equal(1);
    expect((await find({ domain: 'nowhere.example' })).codes).to.deep.equal([]);
  });

  it('finds links whose texts have changed since, and has a segment of them when these are many', async () => {
    const change = (first: number, last: number, minutesAgo: number) =>
      node.pool.query(
        `UPDATE projection_redirects.links SET title = 'Changed ' || code,
           updated_at = now() - $3::integer * interval '1 minute', sequence = 2
         WHERE code = ANY (SELECT 'Code' || i FROM generate_series($1::integer, $2::integer) i)`,
        [first, last, minutesAgo],
      );
    await node.pool.query(
      `UPDATE search.accounts SET complete_to = complete_to - interval '2 hours'`,
    );
    await change(100, 110, 90);
    await change(ofOne + 100, ofOne + 105, 90);
    await expectFound('changed', 'changed code105', 'code105');
    expect(await indexAll()).to.equal(0);
    await change(200, 400, 80);
    expect(await indexAll()).to.equal(1);
    const changes = { level: 0, isOfChanges: true, count: 1, links: 218 };
    expect(await segments()).to.deep.equal([...ofAll, changes]);
    await expectFound('changed code105', 'changed code300', `changed code${ofOne + 103}`);
    for (let round = 1; round < mergedAtOnce; round += 1) {
      await change(round * 2_000, round * 2_000 + 149, 80 - 2 * round);
      // Until then, all of one time are in one segment.
      await node.pool.query(
        `UPDATE search.accounts SET complete_to = now() - $1::integer * interval '1 minute'`,
        [81 - 2 * round],
      );
      await indexAll();
    }
    const merged = { ...changes, level: 1, links: 218 + (mergedAtOnce - 1) * 150 };
    expect(await segments()).to.deep.equal([...ofAll, merged]);
    await expectFound('changed code2', 'changed code14100', `changed code${ofOne + 103}`);
  });

  it('is made anew when most links have changed', async () => {
    await node.pool.query(`UPDATE search.segments SET links = 1000000 WHERE first IS NULL`);
    expect(await indexAll()).to.equal(2 * mergedAtOnce + 3);
    expect(await segments()).to.deep.equal(ofAll);
    await expectFound('changed code105');
  });

  it('is of no use once the table is another one, and made anew', async () => {
    await node.pool.query('UPDATE search.accounts SET source = 1');
    await node.pool.query('DELETE FROM search.postings');
    await expectFound('code4711');
    expect(await indexAll()).to.equal(2 * mergedAtOnce + 3);
    await expectFound('code4711');
  });

  it('is not made while events of links are set aside', async () => {
    await node.pool.query(`UPDATE search.accounts SET source = 1;
      INSERT INTO projection_redirects.dead_letters VALUES ('a-topic', 0, 1, 'x', '{}', 'an error')`);
    expect(await indexAll()).to.equal(0);
    await node.pool.query('DELETE FROM projection_redirects.dead_letters');
    expect(await indexAll()).to.equal(2 * mergedAtOnce + 3);
  });

  it('has the links of an account read again only once these may be enough', async () => {
    const perTime = 2 * linksPerBlock;
    const segment = blocksOfSegment * linksPerBlock;
    const made = 3 * segment;
    const add = (first: number, last: number) =>
      node.pool.query(
        `INSERT INTO projection_redirects.links (code, status, url, account, created_at, sequence)
         SELECT 'Batch' || i, 'active', 'https://example.com/', 'batches',
           timestamptz '2026-01-01' + i / $3::integer * interval '1 second', 1
         FROM generate_series($1::integer, $2::integer) i`,
        [first, last, perTime],
      );
    const setMade = (links: number) =>
      node.pool.query(`UPDATE ledger.key_meters SET all_links = $1 WHERE key_id = 'batches'`, [
        links,
      ]);
    await node.pool.query(`
      INSERT INTO ledger.api_keys
        (id, name, plan, account, status, created_at, sequence, last_event_at, scopes, ancestors)
      VALUES ('batches', 'batches', 'PRO', 'batches', 'active', now(), 1, now(), '{}', '{}');
      INSERT INTO ledger.key_meters (key_id, all_links) VALUES ('batches', ${made})`);
    const memory = indexingMemory();
    const index = () => indexForSearch(node.pool, node.log, memory);
    await add(0, segment / 2 - 1);
    expect(await index()).to.equal(0);
    // No account makes links without its meter's knowledge: this shows that nobody looks.
    await add(segment / 2, made);
    await setMade(made + segment / 2);
    expect(await index()).to.equal(0);
    await setMade(made + segment / 2 + 1);
    expect(await index()).to.equal(3);
    const { rows } = await node.pool.query<{ count: number }>(
      `SELECT count(*) FROM search.blocks WHERE account = 'batches' AND cardinality(starts) = $1`,
      [blocksOfSegment / 2 + 1],
    );
    expect(rows[0]?.count).to.equal(3);
    await node.pool.query(
      `INSERT INTO ledger.links (code, key_id, account, sequence, last_event_at)
       SELECT code, 'batches', account, 1, created_at FROM projection_redirects.links
       WHERE account = 'batches'`,
    );
    expect((await find({ search: 'batch4711' }, 'batches')).codes).to.deep.equal(['Batch4711']);
  });
});
