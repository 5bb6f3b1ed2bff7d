import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { healthResponse } from '../../../schemas/http/health.js';
import { manyRows } from '../e2e/imports-harness.js';
import { createLinks } from '../support/create-links.js';
import { openStreams } from '../support/idle-streams.js';
import { withLedger } from '../support/ledger-events.js';
import { median } from '../support/median.js';
import { wholeNumber } from '../support/options.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { startEmbeddedProduct } from '../support/product.js';
import { markdownTable } from '../support/table.js';
import { eventually } from '../support/waiting.js';
import { cpuUsSince, productCpu, type ProductCpu } from './cpu-ms.js';
import { addWebhooks, createLink, dimensions, send, urlOf } from './growth-dimensions.js';
import type { Call, Dimension, Side } from './growth-dimensions.js';

/**
 * What a call costs next to little and to much of everything that exists:
 * `npm run growth [-- --rounds N] [--only PATTERN] [--full]`
 *
 * A small and a large product run at the same time. Both are filled through the API, the log, or with rows of the
 * ledger, and are restarted. Then each call is measured on both alternately: CPU time of Node and of PostgreSQL. Values
 * are in microseconds unless the row has another unit. Exits with code 1 if a value is more than 1.5 times as large for
 * the large product, and `accepted` has no reason. `--only`: what matches the regular expression. `--full`: 1,000,000
 * links, and more of other things. Linux only.
 */
const { rounds, only, full } = new Command('growth')
  .option('--rounds <count>', 'measurements of each call on each product', wholeNumber, 5)
  .option('--only <pattern>', 'a regular expression', (text) => new RegExp(text), new RegExp(''))
  .option('--full', '1,000,000 links')
  .parse()
  .opts<{ readonly rounds: number; readonly only: RegExp; readonly full?: true }>();

const mostGrowth = 1.5;
/** Costs that may grow, with the reason. */
const accepted: Readonly<Record<string, string>> = {
  'a created link': 'each stream receives the event',
  'GET /v2/links?count=1': 'counts up to 100,000 links',
  'GET /v2/domains': 'five domains do not fill a page of 100',
  'GET /admin/domains': 'five domains do not fill a page of 100',
  'GET /v2/domains/go.bench.example': 'counts the links of the domain',
  'a second at rest': 'each webhook stores its cursor every minute',
  'GET /metrics': 'webhooks store their cursors meanwhile',
  'GET /admin/webhooks': 'lists up to 1,000 webhooks, and counts the events that wait for each',
};

type Counts = Readonly<Record<Side['name'], number>>;
type Costs = Readonly<Record<Side['name'], ProductCpu>>;

const rows: (readonly (string | number)[])[] = [];
let failures = 0;

/** @param least a smaller difference is noise, in the unit of the costs */
const report = (
  name: string,
  counts: Counts,
  cost: string,
  { small, large }: Costs,
  least: number,
): void => {
  const [before, after] = [small, large].map(({ node, postgres }) => node + postgres);
  const ratio = (after ?? NaN) / (before ?? NaN);
  const grows = ratio > mostGrowth && (after ?? NaN) - (before ?? NaN) > least;
  const reason = accepted[cost];
  if (grows && reason === undefined) failures += 1;
  const amounts = [counts.small, counts.large].map((count) => count.toLocaleString('en-US'));
  const figures = [small.node, large.node, small.postgres, large.postgres].map(Math.round);
  const verdict = grows ? (reason ?? '**grows**') : '';
  rows.push([`${name}: ${amounts.join(' → ')}`, cost, ...figures, ratio.toFixed(2), verdict]);
  process.stderr.write(`${rows.at(-1)?.join(' | ') ?? ''}\n`);
};

const dir = await temporaryDir();
const plansFile = await generousPlansFile(dir, { domains: 1_000_000 });
const fileOf = (name: string, file: string): string => path.join(dir, `${name}-${file}`);

const start = (name: Side['name'], dataDir: string) =>
  startEmbeddedProduct({
    dataDir,
    env: { PLANS_FILE: plansFile, BLOCKLIST_FILE: fileOf(name, 'blocklist'), LOG_LEVEL: 'error' },
  });

const createSide = async (name: Side['name']): Promise<Side> => {
  await writeFile(fileOf(name, 'blocklist'), '');
  const product = await start(name, await temporaryDir());
  const { key } = await product.createKey({ plan: 'FREE', account: 'own' });
  return { name, product, key, codes: [] };
};

const sides = [await createSide('small'), await createSide('large')] as const;

/** Measures both products alternately. Returns the medians. */
const alternate = async (
  measure: (side: Side) => Promise<ProductCpu>,
  times = rounds,
): Promise<Costs> => {
  const costs: Record<Side['name'], ProductCpu[]> = { small: [], large: [] };
  for (let round = 0; round < times; round += 1) {
    const order = round % 2 === 0 ? sides : sides.toReversed();
    for (const side of order) costs[side.name].push(await measure(side));
  }
  const middle = (name: Side['name']): ProductCpu => ({
    node: median(costs[name].map(({ node }) => node)),
    postgres: median(costs[name].map(({ postgres }) => postgres)),
  });
  return { small: middle('small'), large: middle('large') };
};

/** CPU time for each operation of `work`, which returns their number. */
const cpuOf = async ({ product }: Side, work: () => Promise<number>): Promise<ProductCpu> => {
  const before = productCpu(product.pid);
  const count = await work();
  return cpuUsSince(before, productCpu(product.pid), count);
};

const callsOfRound = 25;

const roundMs = 5_000;

const callRepeatedly = async (side: Side, call: Call): Promise<number> => {
  const startedAt = performance.now();
  for (let count = 1; ; count += 1) {
    await send(side, call);
    if (count === callsOfRound || performance.now() - startedAt > roundMs) return count;
  }
};

const measureCall = async (call: Call): Promise<Costs> => {
  // The first calls are slower: the process compiles its code.
  for (const side of sides) await callRepeatedly(side, call);
  return alternate((side) => cpuOf(side, () => callRepeatedly(side, call)));
};

/** Smaller differences are noise (µs). */
const noise = { call: 200, second: 2_000, start: 200_000, event: 10, redirect: 50_000 };

const reportCalls = async (name: string, counts: Counts, calls: readonly Call[]): Promise<void> => {
  for (const call of calls) {
    const [target, body = {}] = typeof call === 'string' ? [call] : call;
    const options = Object.keys(body).filter(
      (name) => !target.startsWith('POST') || name !== 'url',
    );
    const cost = [target, ...options].join(', ');
    report(name, counts, cost, await measureCall(call), noise.call);
  }
};

const restSeconds = 10;
const measureRest = (): Promise<Costs> =>
  alternate((side) => cpuOf(side, () => sleep(restSeconds * 1_000, restSeconds)), 2);

const watchMs = 2_000;
/** CPU time within `watchMs` of a product at rest (ms). */
const atRestMs = 120;

/** Waits for projections and compaction. */
const untilAtRest = (side: Side): Promise<void> =>
  eventually(
    'the product is at rest',
    async () => {
      const { node, postgres } = await cpuOf(side, () => sleep(watchMs, 1_000));
      const response = await send(side, 'GET /health/ready');
      const { projections } = healthResponse.parse(response.json());
      return node + postgres < atRestMs && projections.every(({ lag }) => lag === 0);
    },
    300_000,
  );

const measureStart = async (side: Side): Promise<ProductCpu> => {
  await side.product.stop();
  side.product = await start(side.name, side.product.dataDir);
  return cpuUsSince({ node: 0, postgres: 0 }, productCpu(side.product.pid), 1);
};

const countsOf = ({ counts: [small, large, most = large] }: Dimension): Counts => ({
  ...{ small, large: full ? most : large },
});

const measureDimensions = async (): Promise<void> => {
  const chosen = dimensions.filter(({ name }) => only.test(name));
  for (const side of sides) {
    for (const dimension of dimensions) {
      const counts = countsOf(dimension);
      const count = chosen.includes(dimension) ? counts[side.name] : counts.small;
      process.stderr.write(`${side.name}: ${count} ${dimension.name}\n`);
      await dimension.grow(side, count);
    }
    await untilAtRest(side);
    await withLedger(side.product, (pool) => pool.query('VACUUM ANALYZE'));
  }
  const links = countsOf(dimensions[0]);
  report('everything', links, 'a start', await alternate(measureStart, 3), noise.start);
  for (const side of sides) await untilAtRest(side);
  report('everything', links, 'a second at rest', await measureRest(), noise.second);
  for (const dimension of chosen) {
    await reportCalls(dimension.name, countsOf(dimension), dimension.calls);
  }
};

/** Opens a stream of the account's events from the start, and reads this number of them. */
const readStream = async ({ product, key }: Side, events: number): Promise<number> => {
  const headers = { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' };
  const response = await fetch(`${product.api}/v2/events?after=start`, { headers });
  let received = 0;
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    received += Buffer.from(chunk).toString('latin1').split('data: {').length - 1;
    // A message on the border of two chunks is not counted.
    if (received >= events * 0.99) break;
  }
  return received;
};

const measureCatchUp = async (): Promise<void> => {
  const [, large] = sides;
  const counts = { small: 1_000, large: 20_000 };
  await createLinks(large.product.api, large.key, counts.large, urlOf);
  await untilAtRest(large);
  const measure = ({ name }: Side) => cpuOf(large, () => readStream(large, counts[name]));
  report('events before a stream', counts, 'an event', await alternate(measure, 3), noise.event);
};

const linksOfRound = 400;

const measureStreams = async (): Promise<void> => {
  const counts = { small: 1, large: 500 };
  const streams = await Promise.all(
    sides.map(({ name, product }) => openStreams(product, counts[name], 'own')),
  );
  const costs = await alternate((side) =>
    cpuOf(side, async () => {
      const { latencies } = streams[sides.indexOf(side)] ?? { latencies: [] };
      latencies.length = 0;
      await createLinks(side.product.api, side.key, linksOfRound, urlOf);
      const expected = linksOfRound * counts[side.name] * 0.95;
      await eventually('the streams have the events', () => latencies.length >= expected, 300_000);
      return linksOfRound;
    }),
  );
  report('streams of an account', counts, 'a created link', costs, noise.call);
  for (const stream of streams) stream.close();
};

const bytesOfImports = ({ product }: Side): Promise<number> =>
  withLedger(product, async (pool) => {
    const { rows: tables } = await pool.query<{ bytes: number }>(
      `SELECT pg_total_relation_size(oid) AS bytes FROM pg_class
       WHERE relnamespace = 'imports'::regnamespace AND relkind = 'r'`,
    );
    return tables.reduce((sum, { bytes }) => sum + bytes, 0);
  });

const measureImports = async (): Promise<void> => {
  const counts = { small: 1_000, large: 20_000 };
  const stored = { small: { node: 0, postgres: 0 }, large: { node: 0, postgres: 0 } };
  const importFile = async (side: Side): Promise<number> => {
    const count = counts[side.name];
    const before = await bytesOfImports(side);
    await send(side, ['POST /v2/imports?format=csv', manyRows('imported', count)]);
    const isDone = async (): Promise<boolean> =>
      (await send(side, 'GET /v2/imports')).text.includes('"status":"done"');
    await eventually('the import is done', isDone, 600_000);
    await untilAtRest(side);
    stored[side.name].postgres = ((await bytesOfImports(side)) - before) / count;
    return count;
  };
  const costs = await alternate((side) => cpuOf(side, () => importFile(side)), 1);
  report('rows of an import', counts, 'a link', costs, noise.call);
  report('rows of an import', counts, 'stored bytes of a link', stored, noise.call);
};

/** Replaces the list of a product. Returns the longest response time of a redirect meanwhile (µs). */
const replaceBlocklist = async (side: Side, entries: readonly string[]): Promise<ProductCpu> => {
  const file = fileOf(side.name, 'blocklist');
  await writeFile(`${file}.new`, entries.join('\n'));
  await rename(`${file}.new`, file);
  const listed: Call = ['POST /v2/shorten', { url: `https://${entries.at(-1) ?? ''}` }];
  let longest = 0;
  for (let status = 0; status !== 400;) {
    const check = send(side, listed, [400, 503]);
    for (let visits = 0; visits < 20; visits += 1) {
      const startedAt = performance.now();
      await send(side, 'VISIT /{recent}');
      longest = Math.max(longest, performance.now() - startedAt);
      await sleep(5);
    }
    ({ status } = await check);
  }
  return { node: longest * 1_000, postgres: 0 };
};

const measureBlocklists = async (): Promise<void> => {
  for (const [name, entry, count, most] of [
    ['blocked hosts', '{n}.example', 200_000, 1_000_000],
    ['blocked addresses of a host', 'many.example/a/{n}', 20_000, 60_000],
  ] as const) {
    const counts = { small: 100, large: full ? most : count };
    const entries = (side: Side) =>
      Array.from({ length: counts[side.name] }, (_, index) => entry.replace('{n}', `${index}`));
    const waits = await alternate((side) => replaceBlocklist(side, entries(side)), 1);
    report(name, counts, 'longest redirect while it is read', waits, noise.redirect);
    await reportCalls(name, counts, [['POST /v2/shorten', { url: 'https://many.example/b' }]]);
  }
};

const leaseMs = 30_000;

const measureWebhooks = async (): Promise<void> => {
  const counts = { small: 500, large: 5_000 };
  for (const side of sides) await addWebhooks(side, counts[side.name]);
  await sleep(leaseMs);
  report('webhooks', counts, 'a second at rest', await measureRest(), noise.second);
  const calls = ['GET /admin/webhooks', 'GET /health/ready', 'GET /metrics'];
  await reportCalls('webhooks', counts, [createLink, ...calls]);
};

/** In this order: the last one adds background work. */
const others = {
  'events before a stream': measureCatchUp,
  'streams of an account': measureStreams,
  'rows of an import': measureImports,
  blocklist: measureBlocklists,
  webhooks: measureWebhooks,
};

try {
  await measureDimensions();
  for (const [name, measure] of Object.entries(others)) {
    if (only.test(name)) await measure();
  }
  const cpu = ['Node: small', 'large', 'PostgreSQL: small', 'large'];
  process.stdout.write(markdownTable(['What exists', 'Cost', ...cpu, 'Ratio', ''], rows));
  if (failures > 0) process.exitCode = 1;
} finally {
  for (const { product } of sides) await product.cleanup();
  for (const folder of [dir, ...sides.map(({ product }) => product.dataDir)]) {
    await rm(folder, { recursive: true, force: true });
  }
}
