import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { healthResponse } from '../../../schemas/http/health.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { createLogger } from '../../platform/logging.js';
import { createPool, type Pool } from '../../platform/postgres/pool.js';
import { sendRequest } from '../support/http.js';
import { median } from '../support/median.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { postgresOf, startEmbeddedProduct, type Product } from '../support/product.js';
import { eventually } from '../support/waiting.js';
import { runClosedLoad } from './closed-load.js';
import { pinTo } from './cores.js';
import { cpuMs, cpuMsOfTree } from './cpu-ms.js';
import { printGrowth, tableSizes, type TableSizes } from './table-sizes.js';

/**
 * What making a link costs: `node dist/ops/test/bench/link-creation.js [ROUNDS] [SECONDS]`. Everything in one
 * process, with its own PostgreSQL, on one core; the load on another. Each round has 64 clients at once and one
 * alone, on Linklog and on bare `node:http` that answers as many bytes. CPU counts what projections, seals and
 * PostgreSQL do behind an answer while the load lasts. Then what the tables grow by for a link, from one rest to
 * the next: all compacted and vacuumed, as PostgreSQL does by itself each minute. Linux only.
 */
const [rounds = 3, seconds = 10] = process.argv.slice(2).map(Number);
const serverCore = 0;
const loadCore = 1;
const body = JSON.stringify({ url: 'https://example.com/some/where/{n}?utm_source=newsletter' });
const logger = createLogger('silent');

/** A server that does nothing with a POST but to read it. */
const serveBare = (): void => {
  const answer = Buffer.alloc(170, 'a');
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(201, { 'Content-Type': 'application/json', 'Content-Length': 170 });
      response.end(answer);
    });
  }).listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
};

interface Subject {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** CPU so far, in milliseconds, of Node and of PostgreSQL. */
  readonly cpu: () => { readonly node: number; readonly postgres: number };
}

const measure = async (subject: Subject, connections: number) => {
  const { url, headers } = subject;
  const before = subject.cpu();
  const load = { url, headers, body, connections, ms: seconds * 1_000 };
  const result = await runClosedLoad(load, loadCore);
  const after = subject.cpu();
  const made = result.answers['201'] ?? 0;
  if (Object.keys(result.answers).length > 1) throw new Error(JSON.stringify(result.answers));
  return {
    ...result,
    made,
    node: ((after.node - before.node) * 1_000) / made,
    postgres: ((after.postgres - before.postgres) * 1_000) / made,
  };
};

const compare = async (subjects: readonly Subject[]): Promise<void> => {
  const columns = 'a second | p50 ms | p99 ms | CPU µs, Node | PostgreSQL';
  process.stdout.write(`| | clients | ${columns} |\n|---|---|---|---|---|---|---|\n`);
  for (const connections of [64, 1]) {
    const results = new Map<string, Awaited<ReturnType<typeof measure>>[]>();
    for (let round = 0; round < rounds; round += 1) {
      for (const subject of subjects) {
        const result = await measure(subject, connections);
        results.set(subject.name, [...(results.get(subject.name) ?? []), result]);
        // What is done behind the answers.
        await sleep(2_000);
      }
    }
    for (const [name, all] of results) {
      const [perSecond, p50, p99, node, postgres] = (
        ['perSecond', 'p50', 'p99', 'node', 'postgres'] as const
      ).map((field) => median(all.map((result) => result[field])));
      const numbers = [perSecond?.toFixed(0), p50?.toFixed(2), p99?.toFixed(2), node?.toFixed(0)];
      const row = [name, connections, ...numbers, postgres?.toFixed(0)];
      process.stdout.write(`| ${row.join(' | ')} |\n`);
    }
  }
};

/** Of all partitions, that wait for others. */
const alwaysWaiting = 16 * 50;

const sizesAtRest = async ({ api }: Product, pool: Pool): Promise<TableSizes> => {
  const isAtRest = async (): Promise<boolean> => {
    const health = healthResponse.parse((await sendRequest(`${api}/health/ready`)).json());
    const waiting = health.compaction?.waiting ?? 0;
    return health.projections.every(({ lag }) => lag === 0) && waiting < alwaysWaiting;
  };
  // What it reads may be a minute old.
  await sleep(60_000);
  await eventually('all is compacted', isAtRest, 600_000);
  await pool.query('VACUUM');
  return tableSizes(pool);
};

const bench = async (): Promise<void> => {
  const plansFile = await generousPlansFile(await temporaryDir());
  const bare = fork(fileURLToPath(import.meta.url), ['bare']);
  const [port] = (await once(bare, 'message')) as [number];
  const product = await startEmbeddedProduct({
    env: { PLANS_FILE: plansFile, LOG_LEVEL: 'warn' },
  });
  const url = (await runningPostgresUrl(product.dataDir)) ?? '';
  const pool = createPool({ url, name: 'bench', max: 1, logger });
  try {
    pinTo(serverCore, [bare.pid, product.pid, ...(await postgresOf(product.dataDir))]);
    const cpuOf = () => {
      const node = cpuMs(product.pid);
      // Also of what has ended, such as a worker of autovacuum.
      return { node, postgres: cpuMsOfTree(product.pid) - node };
    };
    const headers = {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${(await product.createKey({ plan: 'PRO' })).key}`,
    };
    const linklog = { name: 'Linklog', url: `${product.api}/v2/shorten`, headers, cpu: cpuOf };
    // What runs for the first time is compiled first.
    await measure(linklog, 64);
    await compare([
      linklog,
      {
        ...{ name: 'bare `node:http`', url: `http://127.0.0.1:${port}/`, headers },
        cpu: () => ({ node: cpuMs(bare.pid ?? 0), postgres: 0 }),
      },
    ]);
    const before = await sizesAtRest(product, pool);
    const { made } = await measure(linklog, 64);
    printGrowth('a link', before, await sizesAtRest(product, pool), made);
  } finally {
    await pool.end();
    bare.kill();
    await product.stop();
    await product.cleanup();
  }
};

if (process.argv[2] === 'bare') serveBare();
else await bench();
