import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { healthResponse } from '../../../schemas/http/health.js';
import type { Pool } from '../../platform/postgres/pool.js';
import { sendRequest } from '../support/http.js';
import { openProductPool } from '../support/ledger-events.js';
import { median } from '../support/median.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { postgresOf, startEmbeddedProduct, type Product } from '../support/product.js';
import { markdownTable } from '../support/table.js';
import { eventually } from '../support/waiting.js';
import { runClosedLoad } from './closed-load.js';
import { pinTo } from './cores.js';
import { cpuMs, cpuUsSince, productCpu, type ProductCpu } from './cpu-ms.js';
import { printGrowth, readTableSizes, type TableSizes } from './table-sizes.js';

/**
 * The cost of creating a link: `node dist/ops/test/bench/link-creation.js [ROUNDS] [SECONDS]`. Everything in one
 * process, with its own PostgreSQL, on one core; the load on another. Each round runs 64 clients and one client,
 * on Linklog and on bare `node:http` with a response of the same size. CPU time includes projections, seals and
 * PostgreSQL during the load. Then the growth of the tables for each link, both times after compaction and
 * vacuum, which run each minute. Linux only.
 */
const [rounds = 3, seconds = 10] = process.argv.slice(2).map(Number);
const serverCore = 0;
const loadCore = 1;
const body = JSON.stringify({ url: 'https://example.com/some/where/{n}?utm_source=newsletter' });

/** Reads POST requests and ignores them. */
const serveBare = (): void => {
  const body = Buffer.alloc(170, 'a');
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(201, { 'Content-Type': 'application/json', 'Content-Length': 170 });
      response.end(body);
    });
  }).listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
};

interface Subject {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly cpu: () => ProductCpu;
}

const measure = async (subject: Subject, connections: number) => {
  const { url, headers } = subject;
  const before = subject.cpu();
  const load = { url, headers, body, connections, ms: seconds * 1_000 };
  const result = await runClosedLoad(load, loadCore);
  const after = subject.cpu();
  const created = result.statuses['201'] ?? 0;
  if (Object.keys(result.statuses).length > 1) throw new Error(JSON.stringify(result.statuses));
  return { ...result, created, ...cpuUsSince(before, after, created) };
};

const compare = async (subjects: readonly Subject[]): Promise<void> => {
  const rows: string[][] = [];
  for (const connections of [64, 1]) {
    const results = new Map<string, Awaited<ReturnType<typeof measure>>[]>();
    for (let round = 0; round < rounds; round += 1) {
      for (const subject of subjects) {
        const result = await measure(subject, connections);
        results.set(subject.name, [...(results.get(subject.name) ?? []), result]);
        // Background work of the load.
        await sleep(2_000);
      }
    }
    for (const [name, measured] of results) {
      const [perSecond, p50, p99, node, postgres] = (
        ['perSecond', 'p50', 'p99', 'node', 'postgres'] as const
      ).map((field) => median(measured.map((result) => result[field])));
      const numbers = [perSecond?.toFixed(0), p50?.toFixed(2), p99?.toFixed(2), node?.toFixed(0)];
      rows.push([name, String(connections), ...[...numbers, postgres?.toFixed(0)].map(String)]);
    }
  }
  const columns = ['a second', 'p50 ms', 'p99 ms', 'CPU µs, Node', 'PostgreSQL'];
  process.stdout.write(markdownTable(['', 'clients', ...columns], rows));
};

/** Records of all partitions that are too few to be compacted. */
const alwaysWaiting = 16 * 50;

const readSizesAtRest = async ({ api }: Product, pool: Pool): Promise<TableSizes> => {
  const isAtRest = async (): Promise<boolean> => {
    const health = healthResponse.parse((await sendRequest(`${api}/health/ready`)).json());
    const waiting = health.compaction?.waiting ?? 0;
    return health.projections.every(({ lag }) => lag === 0) && waiting < alwaysWaiting;
  };
  // The health report can be a minute old.
  await sleep(60_000);
  await eventually('all is compacted', isAtRest, 600_000);
  await pool.query('VACUUM');
  return readTableSizes(pool);
};

const bench = async (): Promise<void> => {
  const plansFile = await generousPlansFile(await temporaryDir());
  const bare = fork(fileURLToPath(import.meta.url), ['bare']);
  const [port] = (await once(bare, 'message')) as [number];
  const product = await startEmbeddedProduct({
    env: { PLANS_FILE: plansFile, LOG_LEVEL: 'warn' },
  });
  const pool = await openProductPool(product.dataDir);
  try {
    pinTo(serverCore, [bare.pid, product.pid, ...(await postgresOf(product.dataDir))]);
    const headers = {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${(await product.createKey({ plan: 'PRO' })).key}`,
    };
    const linklog = {
      ...{ name: 'Linklog', url: `${product.api}/v2/shorten`, headers },
      cpu: () => productCpu(product.pid),
    };
    // Warms up the JIT compiler.
    await measure(linklog, 64);
    await compare([
      linklog,
      {
        ...{ name: 'bare `node:http`', url: `http://127.0.0.1:${port}/`, headers },
        cpu: () => ({ node: cpuMs(bare.pid ?? 0), postgres: 0 }),
      },
    ]);
    const before = await readSizesAtRest(product, pool);
    const { created } = await measure(linklog, 64);
    printGrowth('a link', before, await readSizesAtRest(product, pool), created);
  } finally {
    await pool.end();
    bare.kill();
    await product.stop();
    await product.cleanup();
  }
};

if (process.argv[2] === 'bare') serveBare();
else await bench();
