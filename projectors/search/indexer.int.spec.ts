import { expect } from 'chai';
import type { AccountQuery } from '../../command-api/domain/link-query.js';
import { listLinks } from '../../command-api/reports/link-list.js';
import { testDatabase, type TestDatabase } from '../../ops/test/support/database.js';
import { testNode, type TestNode } from '../../ops/test/support/node.js';
import { listLinksQuery } from '../../schemas/http/list-links.js';
import { blockCount, linksPerBlock } from '../../schemas/search/signature.js';
import { indexForSearch, indexingMemory } from './indexer.js';

/** Three links are made at a time, so a block has three times three. */
const ofOne = blockCount * (linksPerBlock + 1);
const links = 2 * ofOne + 900;
const account = 'large';
/** Little is found by looking at the newest links. */
const effort = { examined: 1_000, steps: 10, blocks: 100, few: 10, clicked: 10, accounts: 1 };

describe('projectors: signatures for searches', function () {
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
      INSERT INTO projection_redirects.links (code, status, url, account, created_at, sequence)
      SELECT 'Code' || i, CASE WHEN i % 7 = 0 THEN 'disabled' ELSE 'active' END,
        'https://example.com/' || md5(i::text), '${account}',
        timestamptz '2026-01-01' + i / 3 * interval '1 second', 1
      FROM generate_series(1, ${links}) i;
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
    for (let made = 1; made > 0; all += made) made = await indexForSearch(node.pool, node.log);
    return all;
  };

  const signed = async (): Promise<readonly { completeTo: Date; bytes: number }[]> => {
    const { rows } = await node.pool.query<{ completeTo: Date; bytes: number }>(
      `SELECT complete_to AS "completeTo", length(signature) AS bytes FROM search.signatures ORDER BY until`,
    );
    return rows;
  };

  /** The codes that a search finds, on as many pages as it takes, and how many these are. */
  const find = async (asked: object): Promise<{ codes: readonly string[]; pages: number }> => {
    const query: AccountQuery = { ...listLinksQuery.parse(asked), account };
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

  it('are made of whole pieces of a large account, and find each link of them', async () => {
    expect(await indexAll()).to.equal(2);
    expect(await signed()).to.have.lengthOf(2);
    const parts = Array.from({ length: 40 }, (_, index) => `code${900 + index * 900}`);
    await expectFound(...parts, 'c4ca4238a0b923820dcc509a6f75849b', '0b92', 'e123', 'nowhere');
    const rare = await find({ search: 'CODE77', status: 'disabled' });
    expect(rare.codes).to.deep.equal(
      (await naive('code77')).filter((code) => Number(code.slice(4)) % 7 === 0),
    );
    expect((await find({ search: 'nowhere-at-all' })).pages).to.equal(1);
    expect((await find({ domain: 'nowhere.example' })).codes).to.deep.equal([]);
  });

  it('find links whose texts have changed since, and are made anew when these are many', async () => {
    const change = (first: number, last: number) =>
      node.pool.query(
        `UPDATE projection_redirects.links SET title = 'Changed ' || code, updated_at = now() - interval '30 minutes', sequence = 2
         WHERE code = ANY (SELECT 'Code' || i FROM generate_series($1::integer, $2::integer) i)`,
        [first, last],
      );
    await node.pool.query(
      `UPDATE search.signatures SET complete_to = complete_to - interval '1 hour'`,
    );
    await change(100, 110);
    await change(ofOne + 100, ofOne + 105);
    await expectFound('changed', 'changed code105', 'code105');
    expect(await indexAll()).to.equal(0);
    const [before] = await signed();
    await change(200, 400);
    expect(await indexAll()).to.equal(1);
    const [after] = await signed();
    expect(after?.completeTo).to.be.above(before?.completeTo ?? new Date());
    await expectFound('changed code105', 'changed code300', `changed code${ofOne + 103}`);
  });

  it('are of no use once the table is another one, and made anew', async () => {
    await node.pool.query('UPDATE search.signatures SET source = 1, signature = $1', [
      Buffer.alloc(0),
    ]);
    await expectFound('code4711');
    expect(await indexAll()).to.equal(2);
    await expectFound('code4711');
  });

  it('are not made while events of links are set aside', async () => {
    await node.pool.query(`DELETE FROM search.signatures;
      INSERT INTO projection_redirects.dead_letters VALUES ('a-topic', 0, 1, 'x', '{}', 'an error')`);
    expect(await indexAll()).to.equal(0);
    await node.pool.query('DELETE FROM projection_redirects.dead_letters');
    expect(await indexAll()).to.equal(2);
  });

  it('read the links of an account again only once these may be enough', async () => {
    const many = 3 * blockCount;
    const perTime = 2 * linksPerBlock;
    const made = many * perTime;
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
    // Half of the blocks: there are more links than a signature has, but many have the same time.
    const half = (blockCount / 2) * perTime;
    await add(0, half - 1);
    expect(await index()).to.equal(0);
    // No account makes links without its meter's knowledge: this shows that nobody looks.
    await add(half, made);
    await setMade(made + (blockCount / 2) * linksPerBlock);
    expect(await index()).to.equal(0);
    await setMade(made + (blockCount / 2) * linksPerBlock + 1);
    expect(await index()).to.equal(1);
    expect(await index()).to.equal(1);
  });
});
