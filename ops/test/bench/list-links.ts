import { readCursor, writeCursor } from '../../../command-api/links/list/link-query.js';
import { listLinks } from '../../../command-api/links/list/link-list.js';
import { listLinksQuery } from '../../../schemas/http/list-links.js';
import { createLogger } from '../../platform/logging.js';
import { createPool, type Pool } from '../../platform/postgres/pool.js';
import { endShared } from '../support/at-end.js';
import { testDatabase } from '../support/database.js';
import { percentile } from '../support/median.js';
import { testNode } from '../support/node.js';
import { account, codeOf, fillWithLinks } from './many-links.js';

const logger = createLogger('silent');
const defaultLinks = 1_000_000;
const rounds = 200;

/** Prints the bytes of a link in the tables that lists read. */
const printSizes = async (pool: Pool, links: number): Promise<void> => {
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

/** The query of a round, and the number of pages to skip before the measurement. */
type Kind = readonly [name: string, query: (round: number) => object, skippedPages: number];

const kindsFor = (links: number): readonly Kind[] => {
  const middle = Math.floor(links / 2).toString(16);
  const someCode = (round: number): string => {
    const index = Math.floor((links * (round % rounds)) / rounds);
    return `${index.toString(16)}-${codeOf(index)}`.slice(-12);
  };
  return [
    ['the first page', () => ({}), 0],
    ['page 1,000', () => ({}), 1_000],
    ['search: matches all links', () => ({ search: 'EXAMPLE' }), 0],
    ['search: matches one of 256 links', () => ({ search: '00-' }), 0],
    ['search: one of 256, two characters', () => ({ search: '0-' }), 0],
    ['search: matches one link', (round) => ({ search: someCode(round) }), 0],
    ['search: matches few old links', () => ({ search: 'spring camp' }), 0],
    ['search: a number', () => ({ search: `/${middle}-` }), 0],
    ['search: no match', () => ({ search: 'no-such-link' }), 0],
    ['search: no match, Cyrillic', () => ({ search: 'весна' }), 0],
    ['search: punctuation', () => ({ search: '://' }), 0],
    ['search: no match, no trigram', () => ({ search: '!!!' }), 0],
    ['tag: a tenth', () => ({ tag: 'common' }), 0],
    ['tag: few', () => ({ tag: 'rare' }), 0],
    ['both tags', () => ({ tag: ['common', 'rare'] }), 0],
    ['tag: a tenth, search: no match', () => ({ tag: 'common', search: 'missing' }), 0],
    ['status=active', () => ({ status: 'active' }), 0],
    ['status=disabled, no match', () => ({ status: 'disabled' }), 0],
    ['destination: a seventh', () => ({ destination: 'shop3.example.com' }), 0],
    ['destination: few', () => ({ destination: 'rare.example' }), 0],
    ['sort=clicks', () => ({ sort: 'clicks' }), 0],
    ['sort=clicks, page 100', () => ({ sort: 'clicks' }), 100],
    ['sort=clicks, tag: few', () => ({ sort: 'clicks', tag: 'rare' }), 0],
  ];
};

type ReadPage = (
  query: object,
  after: string | null,
) => Promise<{ readonly found: number; readonly next: string | null }>;

const measure = async (readPage: ReadPage, [name, query, skippedPages]: Kind) => {
  const times: number[] = [];
  let found = 0;
  let after: string | null = null;
  for (let skipped = 0; skipped < skippedPages; skipped += 1) {
    ({ next: after } = await readPage(query(0), after));
  }
  for (let round = 0; round < rounds; round += 1) {
    let next = after;
    let links = 0;
    // Up to the first page with a link.
    do {
      const start = performance.now();
      const page = await readPage(query(round), next);
      times.push(performance.now() - start);
      links += page.found;
      ({ next } = page);
    } while (links === 0 && next !== null);
    found += links;
  }
  const calls = times.length / rounds;
  return {
    ...{ name, found: found / rounds, calls },
    ...{ p50: percentile(times, 0.5).toFixed(1), p99: percentile(times, 0.99).toFixed(1) },
  };
};

/** Prints the response time of a page of each kind. */
const printTimes = async (readPage: ReadPage, links: number): Promise<void> => {
  const table = [];
  for (const kind of kindsFor(links)) {
    process.stderr.write(`${kind[0]}\n`);
    table.push(await measure(readPage, kind));
  }
  console.table(table);
};

/**
 * Lists the links of an account with many links: bytes of a link, and milliseconds a page.
 * `node dist/ops/test/bench/list-links.js [LINKS]`
 */
const run = async (links: number): Promise<void> => {
  const database = await testDatabase('lists');
  const node = await testNode(database);
  const patient = createPool({
    ...{ url: database.url, name: 'fill', max: 2, deadlines: 'patient', logger },
  });
  await fillWithLinks(patient, links);
  await printSizes(patient, links);
  await patient.end();

  const pool = createPool({
    ...{ url: database.url, name: 'lists', max: 8, deadlines: 'request', plansByKey: true, logger },
  });
  const readPage: ReadPage = async (parameters, after) => {
    const query = { ...listLinksQuery.parse(parameters), account };
    const cursor = after === null ? null : readCursor(after, query);
    const request = { query, after: cursor, limit: 20, now: new Date() };
    const { links: found, next } = await listLinks(pool, node.outbox, request);
    return { found: found.length, next: next && writeCursor(next, query) };
  };
  await printTimes(readPage, links);
  await pool.end();
  await node.close();
  await database.drop();
  await endShared();
};

const [, , links = defaultLinks] = process.argv;
await run(Number(links));
