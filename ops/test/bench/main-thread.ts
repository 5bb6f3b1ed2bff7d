import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { topics } from '../../../schemas/events/topics.js';
import { recordOf, spooledVisit } from '../../../schemas/testing/events.js';
import { openPostgresAppend } from '../../event-log/postgres-log.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { createLogger } from '../../platform/logging.js';
import { createPool } from '../../platform/postgres/pool.js';
import { healthResponse } from '../../../schemas/http/health.js';
import { sendRequest, type RequestOptions } from '../support/http.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { startEmbeddedProduct, type Product } from '../support/product.js';
import { eventually } from '../support/waiting.js';

/**
 * CPU time of the main thread for each call that a client can make expensive, with the bytes of its response:
 *
 *     node dist/ops/test/bench/main-thread.js [--calls 20] [--links 3000] [--visits 200000] [--only TEXT]
 *
 * The last column is the 99th percentile of redirects of another account while four connections repeat the call. The
 * first row is a cheap call: what every call costs. `--only` measures the rows whose name contains the text. CPU
 * time hardly depends on other load on the machine. Linux only.
 */
const { values: options } = parseArgs({
  options: {
    calls: { type: 'string', default: '20' },
    links: { type: 'string', default: '3000' },
    visits: { type: 'string', default: '200000' },
    only: { type: 'string', default: '' },
  },
});
const calls = Number(options.calls);
const links = Number(options.links);
const warmUps = 10;
const batchSize = 50;
const historyEvents = 1_000;
const recordsOfAppend = 2_000;

/** CPU time of the main thread of a process so far, in milliseconds. */
const mainThreadMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6;

interface Row {
  readonly name: string;
  readonly path: string;
  readonly request?: RequestOptions;
  /** The first part of the URL; the API by default. */
  readonly origin?: string;
  /** The account whose key the request has; `fat` has large links. */
  readonly account?: 'own' | 'fat';
}

const batchOf = (urlOf: (index: number) => string): RequestOptions => ({
  method: 'POST',
  body: { urls: Array.from({ length: batchSize }, (_, index) => ({ url: urlOf(index) })) },
});

const statistics = (query: string): string => `/v2/stats?include=all&${query}`;

/** A link with options of almost 64 KiB. */
const fatLink = (index: number) => ({
  url: `https://example.com/${index}`,
  rules: Array.from({ length: 3 }, (_, rule) => ({
    name: `rule-${rule}`,
    when: { languages: ['en'] },
    split: Array.from({ length: 10 }, (_, part) => ({
      url: `https://x.example/${index}/${rule}/${part}/${'p'.repeat(1_950)}`,
      name: `part-${part}`,
      weight: 1,
    })),
  })),
});

const rowsOf = (
  product: Product,
  code: string,
  codes: readonly string[],
  fatCodes: readonly string[],
): readonly Row[] => {
  const asOperator = { Authorization: `Bearer ${product.adminToken}` };
  const { admin } = product;
  const history = `links/${code}/history`;
  return [
    { name: 'usage (cheap)', path: '/v2/usage' },
    { name: 'list: 100 links with long notes', path: '/v2/links?limit=100' },
    { name: 'search=zzz: no link has it', path: '/v2/links?search=zzz' },
    { name: 'search=straße: all have it', path: '/v2/links?limit=100&search=stra%C3%9Fe' },
    { name: 'bulk: tags of 100 links', path: '/v2/links/bulk', request: bulkOf(codes) },
    { name: 'history: 1,000 events of 8 KB', path: `/v2/${history}` },
    {
      ...{ name: 'history (operator)', path: `/admin/${history}`, origin: admin },
      request: { headers: asOperator },
    },
    {
      ...{ name: 'batch: 50 hosts of 990 labels', path: '/v2/shorten/batch' },
      request: batchOf((index) => `https://b${index}${'.a'.repeat(989)}/`),
    },
    {
      ...{ name: 'batch: 50 URLs of %2525…', path: '/v2/shorten/batch' },
      // A host of which the built-in blocklist has a URL prefix.
      request: batchOf((index) => `https://www.amtso.org/${index}%${'25'.repeat(1_000)}`),
    },
    {
      ...{ name: 'batch: 50 plain URLs', path: '/v2/shorten/batch' },
      request: batchOf((index) => `https://example.com/${index}`),
    },
    ...[
      'interval=hour&from=1000-01-01&to=1000-01-17',
      'interval=hour&from=1000-01-01&to=1000-01-17&tz=Europe/Berlin',
      'interval=hour&from=2026-03-20&to=2026-04-05&tz=Africa/Casablanca',
      'interval=day&from=1000-01-01&to=1001-02-01&tz=America/New_York',
      'interval=month&from=2900-01-01&to=2933-01-01&tz=Africa/Casablanca',
      'interval=month&from=1000-01-01&to=2999-12-31&tz=Europe/Berlin',
    ].map((query) => ({ name: `statistics: ${query}`, path: statistics(query) })),
    { name: 'list: 100 links of 60 KB', path: '/v2/links?limit=100', account: 'fat' },
    {
      name: 'list by clicks: 100 links of 60 KB',
      path: '/v2/links?limit=100&sort=clicks',
      account: 'fat',
    },
    {
      name: 'destination: 100 links of 60 KB',
      path: '/v2/links?limit=100&destination=x.example',
      account: 'fat',
    },
    { name: 'export: 100 links of 60 KB', path: '/v2/export?format=jsonl', account: 'fat' },
    { name: 'events: 100 links of 60 KB', path: '/v2/events?limit=1000', account: 'fat' },
    {
      name: 'bulk: 100 links of 60 KB',
      path: '/v2/links/bulk',
      request: bulkOf(fatCodes),
      account: 'fat',
    },
    {
      name: 'batch: 1 link of 60 KB',
      path: '/v2/shorten/batch',
      request: { method: 'POST', body: { urls: [fatLink(0)] } },
    },
    {
      name: `events: ${options.visits} visits of others`,
      path: '/v2/events?types=LinkVisited',
      account: 'fat',
    },
    {
      ...{ name: 'batch: weekly.days of 25,000 numbers', path: '/v2/shorten/batch' },
      request: {
        method: 'POST',
        body: {
          urls: [
            {
              url: 'https://example.com/',
              rules: [
                {
                  name: 'a',
                  when: { weekly: { days: Array(25_000).fill(1), from: '09:00', to: '10:00' } },
                  url: 'https://example.com/',
                },
              ],
            },
          ],
        },
      },
    },
    ...['scopes', 'types', 'tags', 'shortCodes'].map((field) => ({
      name: `${field}: 15,000 texts`,
      path:
        {
          scopes: '/v2/keys',
          types: '/v2/webhooks',
          tags: '/v2/shorten',
          shortCodes: '/v2/links/bulk',
        }[field] ?? '',
      request: {
        method: 'POST',
        body: { url: 'https://example.com/', name: 'a', [field]: Array(15_000).fill('a') },
      },
    })),
    {
      ...{ name: 'unknown names in when: 5,000', path: '/v2/shorten' },
      request: {
        method: 'POST',
        body: {
          url: 'https://example.com/',
          rules: [
            {
              name: 'a',
              when: Object.fromEntries(
                Array.from({ length: 5_000 }, (_, index) => [`n${index}`, 1]),
              ),
              url: 'https://example.com/',
            },
          ],
        },
      },
    },
    {
      ...{
        name: 'import, dryRun: a header with 29,000 columns',
        path: '/v2/imports?dryRun=1&format=csv',
      },
      request: {
        method: 'POST',
        headers: { 'Content-Type': 'text/csv' },
        body: `${Array.from({ length: 29_000 }, (_, index) => `c${index}`).join()}\n`,
      },
    },
    { name: 'HEAD of a QR code', path: `/v2/qr/${code}?size=1000`, request: { method: 'HEAD' } },
    { name: 'metrics', path: '/metrics', origin: admin, request: { headers: asOperator } },
  ];
};

/** Each call changes all links: a repeated change would be none. */
let bulks = 0;
const bulkOf = (codes: readonly string[]): RequestOptions => ({
  method: 'POST',
  get body() {
    bulks += 1;
    return { shortCodes: codes, change: { tags: [`round-${bulks}`] } };
  },
});

const send = async (
  product: Product,
  keys: Readonly<Record<'own' | 'fat', string>>,
  { path, request, origin, account = 'own' }: Row,
) => {
  const headers = { Authorization: `Bearer ${keys[account]}`, ...request?.headers };
  const answer = await sendRequest(`${origin ?? product.api}${path}`, {
    ...(request && { ...request, body: request.body }),
    headers,
  });
  // An account may have too many imports or exports at a time.
  if (answer.status >= 500 && answer.status !== 503)
    throw new Error(`${path}: ${answer.status} ${answer.text}`);
  return answer;
};

/** Waits until background work is done: it takes CPU time of the main thread too. */
const untilProjected = ({ api }: Product): Promise<void> =>
  eventually(
    'the projections are up to date',
    async () => {
      const health = healthResponse.parse((await sendRequest(`${api}/health/ready`)).json());
      return health.projections.every(({ lag }) => lag === 0);
    },
    120_000,
  );

/** CPU time for each call, in milliseconds. */
const cpuOf = async ({ pid }: Product, call: () => Promise<unknown>): Promise<number> => {
  const before = mainThreadMs(pid);
  for (let count = 0; count < calls; count += 1) await call();
  return (mainThreadMs(pid) - before) / calls;
};

const attackers = 4;
const probeSeconds = 3;

/** The 99th percentile of the response time of a redirect during calls, in milliseconds. */
const redirectP99 = async (url: string, call: (() => Promise<unknown>) | null): Promise<number> => {
  const probe = new Worker(new URL('./redirect-probe.js', import.meta.url), {
    workerData: { url, seconds: probeSeconds },
  });
  let isRunning = true;
  const attack = async (): Promise<void> => {
    while (call && isRunning) await call();
  };
  const attacks = Array.from({ length: attackers }, attack);
  const [p99] = (await once(probe, 'message')) as [number];
  isRunning = false;
  await Promise.all(attacks);
  return p99;
};

/** Appends visits of another account. */
const appendVisits = async (dataDir: string, visits: number): Promise<void> => {
  const url = (await runningPostgresUrl(dataDir)) ?? '';
  const pool = createPool({ url, name: 'bench', max: 1, logger: createLogger('silent') });
  try {
    const append = await openPostgresAppend(pool);
    for (let sequence = 1; sequence <= visits; sequence += recordsOfAppend) {
      const records = Array.from({ length: recordsOfAppend }, (_, index) =>
        recordOf(
          spooledVisit(`code-${index % 100}`, { sequence: sequence + index, account: 'busy' }),
        ),
      );
      await append(topics.visits.name, records);
    }
  } finally {
    await pool.end();
  }
};

const dir = await temporaryDir();
const product = await startEmbeddedProduct({
  env: {
    PLANS_FILE: await generousPlansFile(dir),
    LOG_LEVEL: 'warn',
  },
});
try {
  const { key } = await product.createKey({ plan: 'PRO' });
  const headers = { Authorization: `Bearer ${key}` };
  const note = 'Straße nach Überlingen, à côté de l’Église. '.repeat(45);
  const codes: string[] = [];
  while (codes.length < links) {
    const urls = Array.from({ length: batchSize }, (_, index) => ({
      ...{ url: `https://example.com/${codes.length + index}`, note, tags: ['été'] },
    }));
    const answer = await sendRequest(`${product.api}/v2/shorten/batch`, {
      ...{ method: 'POST', headers, body: { urls } },
    });
    const { results } = answer.json() as { results: { shortCode?: string }[] };
    codes.push(...results.map(({ shortCode }) => shortCode ?? answer.text));
  }
  const code = codes.at(-1) ?? '';
  for (let change = 1; change < historyEvents; change += 1) {
    const body = { note: `${change} ${'\u{1F517}'.repeat(1_990)}` };
    const { status, text } = await sendRequest(`${product.api}/v2/links/${code}`, {
      ...{ method: 'PATCH', headers, body },
    });
    if (status !== 200) throw new Error(text);
  }
  const { key: fatKey } = await product.createKey({ plan: 'PRO', account: 'fat' });
  const keys = { own: key, fat: fatKey };
  const fatCodes: string[] = [];
  for (let index = 0; index < 100; index += 1) {
    const { status, text } = await sendRequest(`${product.api}/v2/shorten`, {
      ...{ method: 'POST', headers: { Authorization: `Bearer ${fatKey}` }, body: fatLink(index) },
    });
    if (status !== 201) throw new Error(text);
    fatCodes.push((JSON.parse(text) as { shortCode: string }).shortCode);
  }
  await appendVisits(product.dataDir, Number(options.visits));
  await untilProjected(product);

  process.stdout.write(
    '| call | status | bytes | CPU ms | redirect p99 ms |\n|---|---|---|---|---|\n',
  );
  const redirect = `${product.edge}/${code}`;
  const idle = await redirectP99(redirect, null);
  process.stdout.write(`| none | | | | ${idle.toFixed(1)} |\n`);
  for (const row of rowsOf(product, code, codes.slice(0, 100), fatCodes)) {
    if (!row.name.includes(options.only)) continue;
    let answer = await send(product, keys, row);
    for (let call = 1; call < warmUps; call += 1) answer = await send(product, keys, row);
    const ms = await cpuOf(product, () => send(product, keys, row));
    const p99 = await redirectP99(redirect, () => send(product, keys, row));
    const figures = [ms.toFixed(2), p99.toFixed(1)];
    const cells = [row.name, answer.status, answer.bytes.length, ...figures];
    process.stdout.write(`| ${cells.join(' | ')} |\n`);
  }
  await product.stop();
} finally {
  await product.cleanup();
}
