/**
 * CPU time of builds of the product, measured alternately with the same operations:
 *
 *     node dist/ops/test/bench/ablation.js WITH WITHOUT… [--rounds 5]
 *
 * Each argument is the main file of a build, such as `dist/ops/main.js`. To ablate an engine, copy `dist`, and remove the
 * engine from the copy. The figures are medians, over the rounds, of CPU microseconds for each link or visit, until the
 * product is idle, and the difference from the first build. CPU time hardly depends on other load on the machine.
 * Linux only.
 */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import pLimit from 'p-limit';
import { healthResponse } from '../../../schemas/http/health.js';
import { createLinks } from '../support/create-links.js';
import { sendRequest } from '../support/http.js';
import { median } from '../support/median.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { startEmbeddedProduct, type Product } from '../support/product.js';
import { markdownTable } from '../support/table.js';
import { eventually } from '../support/waiting.js';
import { cpuMsOfTree, cpuUsSince, productCpu, type ProductCpu } from './cpu-ms.js';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
  },
});
const rounds = Number(options.rounds);

const agent = new Agent({ keepAlive: true });

const send = (
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  expected: number,
  body?: string,
): Promise<void> =>
  new Promise((resolve, reject) => {
    request(url, { agent, method, headers }, (response) => {
      if (response.statusCode !== expected) reject(new Error(`${url}: ${response.statusCode}`));
      response.resume().on('end', resolve);
    })
      .on('error', reject)
      .end(body);
  });

interface Subject {
  readonly product: Product;
  readonly key: string;
  readonly codes: readonly string[];
}

interface Workload {
  readonly name: string;
  /** Links or visits. */
  readonly operations: number;
  readonly run: (subject: Subject, operations: number) => Promise<unknown>;
}

const inParallel = (
  clients: number,
  operations: number,
  operation: (index: number) => Promise<void>,
): Promise<unknown> => pLimit(clients).map([...Array(operations).keys()], operation);

const urlOf = (index: number): string => `https://example.com/some/where/${index}?utm_source=news`;

const createLink = ({ product, key }: Subject, index: number): Promise<void> =>
  send(
    `${product.api}/v2/shorten`,
    'POST',
    { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    201,
    JSON.stringify({ url: urlOf(index) }),
  );

const agentOf = (index: number): string =>
  `Mozilla/5.0 (X11; Linux x86_64; rv:${60 + (index % 80)}.0) Gecko/20100101 Firefox/${60 + (index % 80)}.0`;

const workloads: readonly Workload[] = [
  {
    name: 'POST of a link, 1 client',
    operations: 600,
    run: (subject, operations) => inParallel(1, operations, (index) => createLink(subject, index)),
  },
  {
    name: 'POST of a link, 64 clients',
    operations: 4_000,
    run: (subject, operations) => inParallel(64, operations, (index) => createLink(subject, index)),
  },
  {
    name: 'batches of 50 links, 8 clients',
    operations: 6_000,
    run: ({ product, key }, operations) => createLinks(product.api, key, operations, urlOf),
  },
  {
    name: 'visits, 64 clients',
    operations: 12_000,
    run: ({ product, codes }, operations) =>
      inParallel(64, operations, (index) =>
        send(
          `${product.edge}/${codes[(index * 7_919) % codes.length]}`,
          'GET',
          { 'User-Agent': agentOf(index), Referer: 'https://news.example.com/item/1' },
          302,
        ),
      ),
  },
];

/** Waits for the projections, which lag behind the load. */
const untilIdle = ({ product: { api, pid } }: Subject): Promise<void> =>
  eventually(
    'the product is idle',
    async () => {
      const before = cpuMsOfTree(pid);
      await sleep(500);
      const usedMs = cpuMsOfTree(pid) - before;
      const response = await sendRequest(`${api}/health/ready`);
      const { projections } = healthResponse.parse(response.json());
      return usedMs < 40 && projections.every(({ lag }) => lag === 0);
    },
    120_000,
  );

const measure = async (subject: Subject, { run, operations }: Workload): Promise<ProductCpu> => {
  const { pid } = subject.product;
  const before = productCpu(pid);
  await run(subject, operations);
  // The server closes idle connections, and a request on one of them would fail.
  agent.destroy();
  await untilIdle(subject);
  return cpuUsSince(before, productCpu(pid), operations);
};

const dir = await temporaryDir();
const env = { PLANS_FILE: await generousPlansFile(dir), LOG_LEVEL: 'warn' };

const start = async (program: string): Promise<Subject> => {
  const product = await startEmbeddedProduct({ env, program: path.resolve(program) });
  const { key } = await product.createKey({ plan: 'PRO' });
  const codes = await createLinks(product.api, key, 5_000, urlOf);
  return { product, key, codes };
};

const subjects: Subject[] = [];
try {
  for (const program of positionals) subjects.push(await start(program));
  const costs = workloads.map(() => subjects.map((): ProductCpu[] => []));
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [row, workload] of workloads.entries()) {
      const order = [...subjects.entries()];
      for (const [column, subject] of round % 2 === 0 ? order : order.reverse()) {
        const cost = await measure(subject, workload);
        if (round > 0) costs[row]?.[column]?.push(cost);
      }
    }
  }
  const rows = workloads.flatMap(({ name }, row) => {
    const totals = (costs[row] ?? []).map((builds) =>
      median(builds.map(({ node, postgres }) => node + postgres)),
    );
    return positionals.map((program, column) => {
      const builds = costs[row]?.[column] ?? [];
      const node = median(builds.map((cost) => cost.node));
      const postgres = median(builds.map((cost) => cost.postgres));
      const [first = NaN, total = NaN] = [totals[0], totals[column]];
      const figures = [node, postgres, total].map((us) => us.toFixed(1));
      return [name, program, ...figures, `${((total / first - 1) * 100).toFixed(1)} %`];
    });
  });
  const header = ['operation', 'build', 'Node', 'PostgreSQL', 'all', 'more than the first'];
  process.stdout.write(markdownTable(header, rows));
} finally {
  for (const { product } of subjects) await product.cleanup();
}
