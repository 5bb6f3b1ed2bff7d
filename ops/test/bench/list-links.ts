import { mkdir } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readCursor, writeCursor } from '../../../command-api/links/list/link-query.js';
import { listLinks } from '../../../command-api/links/list/link-list.js';
import { listLinksQuery } from '../../../schemas/http/list-links.js';
import { startEmbeddedPostgres } from '../../local/postgres/index.js';
import { migrate } from '../../migrations/migrate.js';
import { createLogger } from '../../platform/logging.js';
import { createPool, type Pool } from '../../platform/postgres/pool.js';
import { stopTestServer, testDatabase } from '../support/database.js';
import { testNode } from '../support/node.js';
import { account, codeOf, fillWithLinks } from './many-links.js';

const logger = createLogger('silent');
const defaultLinks = 1_000_000;
const rounds = 200;

const percentile = (sorted: readonly number[], part: number): number =>
  Math.round((sorted[Math.floor(part * sorted.length)] ?? NaN) * 10) / 10;

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

/** Prints how many bytes a link takes in the tables that lists read. */
const tellSizes = async (pool: Pool, links: number): Promise<void> => {
  const { rows } = await pool.query<{ name: string; bytes: number }>(
    `SELECT c.oid::regclass::text AS name, round(pg_total_relation_size(c.oid) / $1::numeric, 1)::float8 AS bytes
     FROM pg_class c WHERE c.oid IN ('projection_redirects.links'::regclass,
       'projection_redirects.link_tags'::regclass)
     UNION ALL SELECT indexrelid::regclass::text, round(pg_relation_size(indexrelid) / $1::numeric, 1)::float8
     FROM pg_index WHERE indrelid = 'projection_redirects.links'::regclass`,
    [links],
  );
  console.table(rows.map(({ name, bytes }) => ({ name, bytesALink: bytes })));
};

/** What is asked for in which round, and the page from which on the time is measured. */
type Kind = readonly [what: string, asked: (round: number) => object, pages: number];

const kindsOf = (links: number): readonly Kind[] => {
  const middle = Math.floor(links / 2).toString(16);
  const someCode = (round: number): string => {
    const index = Math.floor((links * (round % rounds)) / rounds);
    return `${index.toString(16)}-${codeOf(index)}`.slice(-12);
  };
  return [
    ['the first page', () => ({}), 0],
    ['page 1,000', () => ({}), 1_000],
    ['search: all have it', () => ({ search: 'EXAMPLE' }), 0],
    ['search: one of 256 has it', () => ({ search: '00-' }), 0],
    ['search: one of 256, two characters', () => ({ search: '0-' }), 0],
    ['search: one has it', (round) => ({ search: someCode(round) }), 0],
    ['search: few have it, of long ago', () => ({ search: 'spring camp' }), 0],
    ['search: a number', () => ({ search: `/${middle}-` }), 0],
    ['search: none has it', () => ({ search: 'nobody-has-it' }), 0],
    ['search: none has it, Cyrillic', () => ({ search: 'весна' }), 0],
    ['search: punctuation', () => ({ search: '://' }), 0],
    ['search: punctuation that none has', () => ({ search: '!!!' }), 0],
    ['tag: a tenth', () => ({ tag: 'common' }), 0],
    ['tag: few', () => ({ tag: 'rare' }), 0],
    ['both tags', () => ({ tag: ['common', 'rare'] }), 0],
    ['tag: a tenth, search: none has it', () => ({ tag: 'common', search: 'nobody' }), 0],
    ['status=active', () => ({ status: 'active' }), 0],
    ['status=disabled, none', () => ({ status: 'disabled' }), 0],
    ['domain: a seventh', () => ({ domain: 'shop3.example.com' }), 0],
    ['domain: few', () => ({ domain: 'rare.example' }), 0],
    ['sort=clicks', () => ({ sort: 'clicks' }), 0],
    ['sort=clicks, page 100', () => ({ sort: 'clicks' }), 100],
    ['sort=clicks, tag: few', () => ({ sort: 'clicks', tag: 'rare' }), 0],
  ];
};

type ReadPage = (
  asked: object,
  after: string | null,
) => Promise<{ readonly found: number; readonly next: string | null }>;

const measure = async (page: ReadPage, [what, asked, pages]: Kind) => {
  const times: number[] = [];
  let found = 0;
  let after: string | null = null;
  for (let passed = 0; passed < pages; passed += 1) ({ next: after } = await page(asked(0), after));
  for (let round = 0; round < rounds; round += 1) {
    let next = after;
    let links = 0;
    // To the first page that has a link.
    do {
      const start = performance.now();
      const one = await page(asked(round), next);
      times.push(performance.now() - start);
      links += one.found;
      ({ next } = one);
    } while (links === 0 && next !== null);
    found += links;
  }
  const calls = times.length / rounds;
  times.sort((a, b) => a - b);
  return {
    ...{ what, found: found / rounds, calls },
    ...{ p50: percentile(times, 0.5), p99: percentile(times, 0.99) },
  };
};

/** Reads so many pages, one after the other, and from the first one again after the last or the hundredth. */
const readPages = async (page: ReadPage, asked: Kind[1], count: number): Promise<void> => {
  let next: string | null = null;
  for (let read = 0, round = 0; read < count; read += 1) {
    ({ next } = await page(asked(round), next));
    if (read % 100 === 99) next = null;
    if (next === null) round += 1;
  }
};

/** Prints how long a page of each kind takes. */
const tellTimes = async (page: ReadPage, links: number): Promise<void> => {
  const table = [];
  for (const kind of kindsOf(links)) {
    process.stderr.write(`${kind[0]}\n`);
    table.push(await measure(page, kind));
  }
  console.table(table);
};

/** MiB, without what could be collected. */
const memory = () => {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { rss, heapUsed } = process.memoryUsage();
  return { rss: Math.round(rss / 2 ** 20), heapUsed: Math.round((10 * heapUsed) / 2 ** 20) / 10 };
};

/** Prints what the memory is after the first hundred pages of each kind, and after so many more. */
const tellMemory = async (page: ReadPage, links: number, pages: number): Promise<void> => {
  const table = [];
  for (const count of [100, pages]) {
    for (const [what, asked] of kindsOf(links)) {
      process.stderr.write(`${count} pages: ${what}\n`);
      await readPages(page, asked, count);
    }
    table.push({ pages: `${count} of each kind`, ...memory() });
  }
  console.table(table);
};

/**
 * Lists the links of an account that has many: sizes, and milliseconds a page. In a folder, the links stay: filled
 * once, they are measured as often as wanted. With a number of pages, it reads so many of each kind instead, and tells
 * what the process's memory is before and after them.
 * `node dist/ops/test/bench/list-links.js [LINKS [FOLDER [PAGES]]]`
 */
const run = async (wanted: number, dataDir?: string, pagesForMemory = 0): Promise<void> => {
  const database = await (dataDir === undefined ? testDatabase('lists') : keptDatabase(dataDir));
  const node = await testNode(database);
  const patient = createPool({
    ...{ url: database.url, name: 'fill', max: 2, deadlines: 'patient', logger },
  });
  const { rows: known } = await patient.query<{ links: number | null }>(
    'SELECT sum(all_links)::bigint AS links FROM ledger.key_meters',
  );
  const kept = known[0]?.links ?? 0;
  const links = kept > 0 ? kept : wanted;
  const began = performance.now();
  if (kept === 0) await fillWithLinks(patient, links);
  const seconds = Math.round((performance.now() - began) / 1_000);
  process.stdout.write(`${links} links in ${seconds} s\n`);
  await tellSizes(patient, links);
  await patient.end();

  const pool = createPool({
    ...{ url: database.url, name: 'lists', max: 8, deadlines: 'request', plansByKey: true, logger },
  });
  const page: ReadPage = async (asked, after) => {
    const query = { ...listLinksQuery.parse(asked), account };
    const place = after === null ? null : readCursor(after, query);
    const request = { query, after: place, limit: 20, now: new Date() };
    const { links: found, next } = await listLinks(pool, node.outbox, request);
    return { found: found.length, next: next && writeCursor(next, query) };
  };
  if (pagesForMemory === 0) await tellTimes(page, links);
  else await tellMemory(page, links, pagesForMemory);
  await pool.end();
  await node.close();
  await database.drop();
  await stopTestServer();
};

const [, , links = defaultLinks, folder, pages = 0] = process.argv;
await run(Number(links), folder, Number(pages));
