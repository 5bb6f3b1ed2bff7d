import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import {
  readPlace,
  writePlace,
  type AccountQuery,
} from '../../../command-api/domain/link-query.js';
import { listLinks } from '../../../command-api/reports/link-list.js';
import { redirects } from '../../../projectors/redirects/projection.js';
import { indexForSearch } from '../../../projectors/search/indexer.js';
import { listLinksQuery } from '../../../schemas/http/list-links.js';
import { created } from '../../../schemas/testing/events.js';
import { startEmbeddedPostgres } from '../../local/postgres/index.js';
import { migrate } from '../../migrations/migrate.js';
import { createLogger } from '../../platform/logging.js';
import { createPool, transaction, type Pool } from '../../platform/postgres/pool.js';
import { stopTestServer, testDatabase } from '../support/database.js';
import { testNode } from '../support/node.js';

const logger = createLogger('silent');
const defaultLinks = 1_000_000;
const batch = 5_000;
const account = 'bench';
const spacingMs = 3_000;
const rounds = 100;

const percentile = (sorted: readonly number[], part: number): number =>
  Math.round((sorted[Math.floor(part * sorted.length)] ?? NaN) * 10) / 10;

/** Link number `index`: the newest has the highest. Every tenth has a tag, every ten-thousandth another one. */
const linkNumber = (index: number, time: Date) => {
  const code = randomBytes(6).toString('base64url');
  const host = index % 50_000 === 7 ? 'rare.example' : `shop${index % 7}.example.com`;
  return created(
    code,
    {
      url: `https://${host}/articles/${index.toString(36)}-${code}?utm_source=letter`,
      tags: [...(index % 10 === 0 ? ['common'] : []), ...(index % 10_000 === 10 ? ['rare'] : [])],
      // A campaign of long ago.
      ...(index % 1_000 === 3 && index < 500_000 && { title: 'Spring campaign' }),
    },
    { account, time, sequence: 1 },
  );
};

const fill = async (pool: Pool, links: number): Promise<void> => {
  const first = Date.now() - 60_000 - links * spacingMs;
  for (let from = 0; from < links; from += batch) {
    const events = Array.from({ length: Math.min(batch, links - from) }, (_, index) =>
      linkNumber(from + index, new Date(first + (from + index) * spacingMs)),
    );
    await transaction(pool, (tx) => redirects.apply(tx, 'projection_redirects', events, 0));
    if (from % 100_000 === 0) process.stderr.write(`\r${from} of ${links} links`);
  }
  process.stderr.write('\n');
  await pool.query(
    `INSERT INTO ledger.links (code, key_id, account, sequence, last_event_at)
     SELECT code, 'bench-key', account, 1, created_at FROM projection_redirects.links`,
  );
  // A fifth were clicked; few of them often.
  await pool.query(
    `INSERT INTO projection_stats.codes
       (code, account, clicks, bots, last_accessed, day, uniques, series, document, visitors, visitors_before)
     SELECT code, account, (1 / (1e-6 + random()))::integer, 0, now(), 20000, 1, '[0,1,0]',
       '[[],[],[],[],[],[],[]]', '', ''
     FROM projection_redirects.links WHERE hashtext(code) % 5 = 0`,
  );
  await pool.query('VACUUM ANALYZE');
};

/** What searches need: see `indexForSearch`. */
const index = async (pool: Pool, log: Parameters<typeof indexForSearch>[1]): Promise<number> => {
  await pool.query(
    `INSERT INTO ledger.api_keys (id, name, plan, account, status, created_at, sequence, last_event_at, scopes, ancestors)
     VALUES ('bench-key', 'bench', 'PRO', $1, 'active', now(), 1, now(), '{}', '{}')`,
    [account],
  );
  await pool.query(
    `INSERT INTO ledger.key_meters (key_id, all_links)
     SELECT 'bench-key', count(*) FROM projection_redirects.links`,
  );
  let all = 0;
  for (let made = 1; made > 0; all += made) made = await indexForSearch(pool, log);
  return all;
};

/** The PostgreSQL of a folder, which stays there. */
const keptDatabase = async (dataDir: string) => {
  await mkdir(dataDir, { recursive: true });
  const postgres = await startEmbeddedPostgres({ dataDir, logger });
  const pool = createPool({ url: postgres.url, name: 'bench', max: 2, logger });
  await migrate(pool);
  return {
    ...{ url: postgres.url, pool },
    async drop() {
      await pool.end();
      await postgres.stop();
    },
  };
};

/**
 * Lists the links of an account that has many: sizes, and milliseconds a page. In a folder, the links stay: filled
 * once, they are measured as often as wanted. `node dist/ops/test/bench/list-links.js [LINKS [FOLDER]]`
 */
const run = async (wanted: number, dataDir?: string): Promise<void> => {
  const database = await (dataDir === undefined ? testDatabase('lists') : keptDatabase(dataDir));
  const node = await testNode(database);
  const patient = createPool({
    url: database.url,
    name: 'fill',
    max: 2,
    deadlines: 'patient',
    logger,
  });
  const { rows: known } = await patient.query<{ links: number }>(
    'SELECT count(*) AS links FROM ledger.links',
  );
  const kept = known[0]?.links ?? 0;
  const links = kept > 0 ? kept : wanted;
  if (kept === 0) {
    const began = performance.now();
    await fill(patient, links);
    const filled = performance.now();
    const signatures = await index(patient, node.log);
    const indexed = performance.now();
    process.stdout.write(
      `${links} links in ${Math.round((filled - began) / 1_000)} s, ` +
        `${signatures} signatures in ${Math.round((indexed - filled) / 1_000)} s\n`,
    );
  }
  const { rows: sizes } = await patient.query<{ name: string; bytes: number }>(
    `SELECT c.oid::regclass::text AS name, round(pg_total_relation_size(c.oid) / $1::numeric)::integer AS bytes
     FROM pg_class c WHERE c.oid IN ('projection_redirects.links'::regclass,
       'projection_redirects.link_tags'::regclass, 'search.signatures'::regclass)
     UNION ALL SELECT indexrelid::regclass::text, round(pg_relation_size(indexrelid) / $1::numeric)::integer
     FROM pg_index WHERE indrelid = 'projection_redirects.links'::regclass`,
    [links],
  );
  console.table(sizes.map(({ name, bytes }) => ({ name, bytesALink: bytes })));

  const pool = createPool({
    ...{ url: database.url, name: 'lists', max: 8, deadlines: 'request', plansByKey: true, logger },
  });
  const page = async (query: AccountQuery, after: string | null) => {
    const place = after === null ? null : readPlace(after, query);
    const request = { query, after: place, limit: 20, now: new Date() };
    const { links: found, next } = await listLinks(pool, node.outbox, request);
    return { found: found.length, next: next && writePlace(next, query) };
  };
  const { rows: some } = await pool.query<{ url: string }>(
    `SELECT url FROM projection_redirects.links TABLESAMPLE SYSTEM (1) LIMIT ${rounds}`,
  );
  const middle = Math.floor(links / 2).toString(36);
  const queries: readonly (readonly [string, (round: number) => object, number])[] = [
    ['the first page', () => ({}), 0],
    ['page 1,000', () => ({ limit: '20' }), 1_000],
    ['search: all have it', () => ({ search: 'EXAMPLE' }), 0],
    [
      'search: one has it',
      (round) => ({ search: some[round % some.length]?.url.slice(-30, -18) }),
      0,
    ],
    ['search: few have it, of long ago', () => ({ search: 'spring camp' }), 0],
    ['search: a number', () => ({ search: `/${middle}-` }), 0],
    ['search: none has it', () => ({ search: 'nobody-has-it' }), 0],
    ['search: punctuation', () => ({ search: '://' }), 0],
    ['search: punctuation that none has', () => ({ search: '!!!' }), 0],
    ['tag: a tenth', () => ({ tag: 'common' }), 0],
    ['tag: few', () => ({ tag: 'rare' }), 0],
    ['both tags', () => ({ tag: ['common', 'rare'] }), 0],
    ['status=active', () => ({ status: 'active' }), 0],
    ['status=disabled, none', () => ({ status: 'disabled' }), 0],
    ['domain: a seventh', () => ({ domain: 'shop3.example.com' }), 0],
    ['domain: few', () => ({ domain: 'rare.example' }), 0],
    ['sort=clicks', () => ({ sort: 'clicks' }), 0],
    ['sort=clicks, page 100', () => ({ sort: 'clicks' }), 100],
    ['sort=clicks, tag: few', () => ({ sort: 'clicks', tag: 'rare' }), 0],
  ];
  const memory = process.memoryUsage.rss();
  const table = [];
  for (const [what, asked, pages] of queries) {
    const times: number[] = [];
    let found = 0;
    let calls = 0;
    let after: string | null = null;
    for (let passed = 0; passed < pages; passed += 1) {
      ({ next: after } = await page({ ...listLinksQuery.parse(asked(0)), account }, after));
    }
    for (let round = 0; round < rounds; round += 1) {
      const query = { ...listLinksQuery.parse(asked(round)), account };
      let next = after;
      let pagesRead = 0;
      let links = 0;
      // To the first page that has a link.
      do {
        const start = performance.now();
        const one = await page(query, next);
        times.push(performance.now() - start);
        pagesRead += 1;
        links += one.found;
        ({ next } = one);
      } while (links === 0 && next !== null);
      calls += pagesRead;
      found += links;
    }
    times.sort((a, b) => a - b);
    table.push({
      ...{ what, found: found / rounds, calls: calls / rounds },
      ...{ p50: percentile(times, 0.5), p99: percentile(times, 0.99) },
    });
  }
  console.table(table);
  const grown = Math.round((process.memoryUsage.rss() - memory) / 2 ** 20);
  process.stdout.write(`memory of the process: ${grown} MiB more after all of these\n`);
  await pool.end();
  await patient.end();
  await node.close();
  await database.drop();
  await stopTestServer();
};

const [, , links = defaultLinks, folder] = process.argv;
await run(Number(links), folder);
