import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command, Option } from 'commander';
import type { ImportResponse } from '../../../schemas/http/imports.js';
import { topics } from '../../../schemas/events/topics.js';
import { recordOf, spooledVisit } from '../../../schemas/testing/events.js';
import { openPostgresAppend } from '../../event-log/postgres-log.js';
import { projectFile } from '../../platform/files/project-file.js';
import { sendRequest } from '../support/http.js';
import { openProductPool } from '../support/ledger-events.js';
import { percentile } from '../support/median.js';
import { wholeNumber, wholeNumberOrZero } from '../support/options.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { startEmbeddedProduct } from '../support/product.js';
import { openStatusClient } from '../support/status-client.js';
import { markdownTable } from '../support/table.js';
import { readMemory } from './memory.js';
import { randomVisit } from './random-visits.js';
import { printGrowth, readTableSizes } from './table-sizes.js';

/**
 * One installation with many links and visits, everything in one process: how long it takes to fill, what it needs, how it
 * starts, responds, serves a constant load of visits, and is copied:
 * `node dist/ops/test/bench/scale.js [--links N] [--visits N] [--rate N] [--minutes N] [--popularity zipf|uniform]`
 *
 * The links are imported. The visits are appended to the log, with the times of a year, and projected by the product. By
 * default, the link of rank n has 1/n of the visits of the first one; `uniform` is the worst case for caches and projections.
 */
const { links, visits, rate, minutes, popularity } = new Command('scale')
  .option('--links <count>', 'imported links', wholeNumber, 10_000_000)
  .option('--visits <count>', 'visits before the load', wholeNumberOrZero, 100_000_000)
  .option('--rate <count>', 'visits a second of the load', wholeNumber, 5_000)
  .option('--minutes <count>', 'duration of the load', wholeNumberOrZero, 60)
  .addOption(
    new Option('--popularity <law>', 'how visits are spread over the links')
      .choices(['zipf', 'uniform'])
      .default('zipf'),
  )
  .parse()
  .opts<
    Record<'links' | 'visits' | 'rate' | 'minutes', number> & { readonly popularity: string }
  >();

const account = 'own';
const rowsOfImport = 1_000_000;
const rowsOfChunk = 1_000;
const visitsOfAppend = 1_000;
/** Visits that wait to be projected while more are appended. */
const mostWaiting = 1_000_000;
const connections = 64;
const requests = 200;
const yearMs = 365 * 86_400_000;

const dataDir = await temporaryDir();
const target = await temporaryDir();
const restored = await temporaryDir();
const env = { PLANS_FILE: await generousPlansFile(target), IMPORT_MAX_BYTES: '1000000000' };
let product = await startEmbeddedProduct({ dataDir, env });
const { key } = await product.createKey({ plan: 'PRO', account });
const headers = { Authorization: `Bearer ${key}` };

const codeOf = (index: number): string => `s${String(index).padStart(8, '0')}`;
const randomCode = (): string => codeOf(Math.floor(Math.random() * links));
/** The logarithm of a rank by Zipf's law is uniform. */
const visitedCode = (): string =>
  popularity === 'zipf' ? codeOf(Math.floor(links ** Math.random() - 1)) : randomCode();
const rows: (readonly (string | number)[])[] = [];
const add = (...row: readonly (string | number)[]): void => {
  rows.push(row);
  process.stderr.write(`${row.join(': ')}\n`);
};
const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1_000;
const format = (value: number): string => Math.round(value).toLocaleString('en-US');
const addDuration = (what: string, startedAt: number, count: number): void => {
  const seconds = secondsSince(startedAt);
  add(what, `${format(seconds)} s, ${format(count / seconds)} a second`);
};
const addSizes = async (what: string): Promise<void> => {
  const { node, postgres } = await readMemory(product);
  const kib = Number(execFileSync('du', ['-sk', dataDir], { encoding: 'utf8' }).split('\t')[0]);
  const memory = `${format(node)} MiB of Node, ${format(postgres)} MiB of PostgreSQL`;
  add(what, `${memory}, ${format(kib / 1_024)} MiB on disk`);
};

async function* csv(from: number, to: number): AsyncGenerator<Uint8Array> {
  yield Buffer.from('code,url,title\n');
  for (let start = from; start < to; start += rowsOfChunk) {
    const chunk = Array.from({ length: Math.min(rowsOfChunk, to - start) }, (_, index) => {
      const number = start + index;
      return `${codeOf(number)},https://shop${number % 7}.example.com/articles/${number},Article ${number}\n`;
    });
    yield await Promise.resolve(Buffer.from(chunk.join('')));
  }
}

const importLinks = async (from: number, to: number): Promise<void> => {
  const response = await fetch(`${product.api}/v2/imports?format=csv`, {
    ...{ method: 'POST', headers, body: csv(from, to), duplex: 'half' },
  });
  if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
  let imported = (await response.json()) as ImportResponse;
  while (imported.status === 'running') {
    await sleep(1_000);
    const { id } = imported;
    imported = (
      await sendRequest(`${product.api}/v2/imports/${id}`, { headers })
    ).json() as ImportResponse;
  }
  if (imported.created !== to - from) throw new Error(`${imported.created} links of ${to - from}`);
};

/** The highest value of a metric of all projections. */
const readMetric = async (name: string): Promise<number> => {
  const token = { Authorization: `Bearer ${product.adminToken}` };
  const { text } = await sendRequest(`${product.admin}/metrics`, { headers: token });
  const values = text.matchAll(new RegExp(`^${name}\\{[^}]*\\} (\\S+)$`, 'gm'));
  return Math.max(...[...values].map(([, value]) => Number(value)));
};
const untilProjected = async (most = 0): Promise<void> => {
  while ((await readMetric('linklog_projection_lag_events')) > most) await sleep(1_000);
};

const appendVisits = async (): Promise<void> => {
  const pool = await openProductPool(dataDir);
  const append = await openPostgresAppend(pool);
  const begin = Date.now() - yearMs;
  for (let done = 0; done < visits; done += visitsOfAppend) {
    const records = Array.from({ length: visitsOfAppend }, (_, index) => {
      const number = done + index;
      const time = new Date(begin + (yearMs * number) / visits);
      const { data } = randomVisit();
      const visit = spooledVisit(visitedCode(), { sequence: number + 1, account, time });
      return recordOf({ ...visit, data: { click: null, ...data } });
    });
    await append(topics.visits.name, records);
    if (done % mostWaiting === 0) await untilProjected(mostWaiting);
  }
  await pool.end();
  await untilProjected();
};

const readSizes = async (): ReturnType<typeof readTableSizes> => {
  const pool = await openProductPool(dataDir);
  try {
    return await readTableSizes(pool);
  } finally {
    await pool.end();
  }
};

const addResponseTimes = async (what: string, call: () => Promise<unknown>): Promise<void> => {
  const times: number[] = [];
  for (let request = 0; request < requests; request += 1) {
    const sentAt = performance.now();
    await call();
    times.push(performance.now() - sentAt);
  }
  const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
  add(what, `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`);
};

const call = async (url: string, status = 200): Promise<void> => {
  const response = await sendRequest(url, { headers, timeoutMs: 60_000 });
  if (response.status !== status) throw new Error(`${url}: ${response.status} ${response.text}`);
};

const addCalls = async (): Promise<void> => {
  const apiPaths = [
    '/v2/links',
    '/v2/links?count=1',
    '/v2/links?sort=clicks',
    '/v2/links?search=articles',
    '/v2/links?search=no-such-link',
    '/v2/stats?include=all',
    '/v2/usage',
  ];
  const random = (prefix: string) => () => call(`${product.api}${prefix}${randomCode()}`);
  await addResponseTimes('first visits of links', () =>
    call(`${product.edge}/${randomCode()}`, 302),
  );
  for (const apiPath of apiPaths) {
    await addResponseTimes(`\`GET ${apiPath}\``, () => call(product.api + apiPath));
  }
  await addResponseTimes('`GET /v2/links/:shortCode`', random('/v2/links/'));
  await addResponseTimes('`GET /v2/stats/:shortCode`', random('/v2/stats/'));
};

/** Visits at constant intervals: a late response does not delay the next request of another connection. */
const load = async (): Promise<void> => {
  const startedAt = performance.now();
  const total = rate * minutes * 60;
  let times: number[] = [];
  let isLoading = true;
  const visit = async (first: number): Promise<void> => {
    const client = openStatusClient(product.edge);
    for (let number = first; number < total; number += connections) {
      const dueAt = startedAt + (number * 1_000) / rate;
      if (dueAt > performance.now()) await sleep(dueAt - performance.now());
      const status = await client.send(`GET /${visitedCode()} HTTP/1.1\r\nHost: a\r\n\r\n`);
      if (status !== '302') throw new Error(`a visit got ${status}`);
      times.push(performance.now() - dueAt);
    }
    client.close();
  };
  const report = async (): Promise<void> => {
    for (let minute = 1; minute <= minutes; minute += 1) {
      let lag = 0;
      while (isLoading && performance.now() < startedAt + minute * 60_000) {
        await sleep(1_000);
        lag = Math.max(lag, await readMetric('linklog_projection_lag_seconds'));
      }
      const done = times;
      times = [];
      const latency = `p50 ${percentile(done, 0.5).toFixed(1)} ms, p99 ${percentile(done, 0.99).toFixed(1)} ms`;
      const served = `${format(done.length / 60)} visits a second, ${latency}`;
      await addSizes(`minute ${minute}: ${served}, lag at most ${lag.toFixed(1)} s`);
    }
  };
  const reporting = report();
  await Promise.all(Array.from({ length: connections }, (_, index) => visit(index)));
  isLoading = false;
  await reporting;
};

const runCommand = async (what: string, args: readonly string[], dir: string): Promise<void> => {
  const startedAt = performance.now();
  const main = projectFile('dist', 'ops', 'tools', 'cli', 'main.js');
  const child = spawn(process.execPath, [main, ...args], {
    ...{ env: { ...process.env, ...env, DATA_DIR: dir }, stdio: ['ignore', 'ignore', 'inherit'] },
  });
  const [code] = (await once(child, 'exit')) as [number];
  if (code !== 0) throw new Error(`${args.join(' ')} exited with ${code}`);
  addDuration(what, startedAt, links + visits + rate * minutes * 60);
};

try {
  let startedAt = performance.now();
  const empty = await readSizes();
  for (let from = 0; from < links; from += rowsOfImport) {
    await importLinks(from, Math.min(links, from + rowsOfImport));
  }
  await untilProjected();
  addDuration('import of links', startedAt, links);
  await addSizes('with the links');
  const withLinks = await readSizes();
  printGrowth('a link', empty, withLinks, links);
  startedAt = performance.now();
  await appendVisits();
  addDuration('visits until projected', startedAt, visits);
  await addSizes('with the visits');
  printGrowth('a visit', withLinks, await readSizes(), visits);
  await product.stop();
  startedAt = performance.now();
  product = await startEmbeddedProduct({ dataDir, env });
  add('start until ready', `${secondsSince(startedAt).toFixed(1)} s`);
  await addSizes('after the start');
  await addCalls();
  await load();
  await untilProjected();
  const backup = path.join(target, 'backup');
  await runCommand('`linklog backup`', ['backup', backup], dataDir);
  add('size of the backup', `${format((await stat(backup)).size / 1_048_576)} MiB`);
  await runCommand('`linklog audit verify`', ['audit', 'verify'], dataDir);
  await product.stop();
  await runCommand('`linklog restore`', ['restore', backup], restored);
  process.stdout.write(markdownTable(['Figure', 'Value'], rows));
} finally {
  await product.cleanup();
  await rm(dataDir, { recursive: true, force: true });
  await rm(target, { recursive: true, force: true });
  await rm(restored, { recursive: true, force: true });
}
