import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { endShared } from '../support/at-end.js';
import { createManyWebhooks } from '../support/many-webhooks.js';
import { percentile } from '../support/median.js';
import { wholeNumber } from '../support/options.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { startEmbeddedProduct } from '../support/product.js';
import { markdownTable } from '../support/table.js';
import { webhookEnvironment } from '../chaos/webhook-rounds.js';
import { cpuUsSince, productCpu } from './cpu-ms.js';

/**
 * Thousands of webhooks of everything in one process, compared with none: CPU time and memory at rest, and how late the
 * events of all accounts come to healthy receivers while others are dead:
 * `node dist/ops/test/bench/many-webhooks.js [--webhooks N] [--accounts N] [--dead N] [--rounds N] [--seconds N]`
 */
const { webhooks, accounts, dead, rounds, seconds } = new Command('many-webhooks')
  .option('--webhooks <count>', 'webhooks', wholeNumber, 5_000)
  .option('--accounts <count>', 'accounts', wholeNumber, 500)
  .option('--dead <count>', 'webhooks with dead receivers', wholeNumber, 1_000)
  .option('--rounds <count>', 'links in each account', wholeNumber, 5)
  .option('--seconds <count>', 'length of a measurement at rest', wholeNumber, 20)
  .parse()
  .opts<Record<'webhooks' | 'accounts' | 'dead' | 'rounds' | 'seconds', number>>();

/** The pause between two rounds (ms): retries after 5 s are next to the events of the next round. */
const roundMs = 10_000;
const startMs = 20_000;

const dataDir = await temporaryDir();
const env = { ...webhookEnvironment, PLANS_FILE: await generousPlansFile(dataDir) };
let product = await startEmbeddedProduct({ dataDir, env });
const rows: (readonly [string, string])[] = [];
const report = (figure: string, value: string): void => {
  rows.push([figure, value]);
  process.stderr.write(`${figure}: ${value}\n`);
};

/** CPU time in percent of a core, and memory (MiB), after a restart: requests have left a larger heap. */
const atRest = async () => {
  await product.stop();
  product = await startEmbeddedProduct({ dataDir, env });
  await sleep(startMs);
  const before = productCpu(product.pid);
  await sleep(seconds * 1_000);
  const after = productCpu(product.pid);
  const percent = (name: 'node' | 'postgres') => (after[name] - before[name]) / (seconds * 10);
  return { node: percent('node'), postgres: percent('postgres'), rss: await product.rssMiB() };
};

const reportRest = (what: string, { node, postgres, rss }: Awaited<ReturnType<typeof atRest>>) => {
  report(
    `CPU ${what}: Node, PostgreSQL`,
    `${node.toFixed(1)} %, ${postgres.toFixed(1)} % of a core`,
  );
  report(`memory ${what}`, `${rss.toFixed(0)} MiB`);
};

try {
  reportRest('without webhooks', await atRest());
  const many = await createManyWebhooks(() => product, { webhooks, accounts, dead });
  reportRest(`of ${webhooks} webhooks`, await atRest());
  const before = productCpu(product.pid);
  for (let round = 1; round <= rounds; round += 1) {
    await many.createLinks();
    await sleep(roundMs);
  }
  const { expected, lateMs } = await many.received(60_000);
  report('deliveries to healthy receivers', `${lateMs.length} of ${expected}`);
  const { node, postgres } = cpuUsSince(before, productCpu(product.pid), lateMs.length);
  report(
    'CPU of a delivery: Node, PostgreSQL',
    `${Math.round(node)} µs, ${Math.round(postgres)} µs`,
  );
  const [median, p99] = [percentile(lateMs, 0.5), percentile(lateMs, 0.99)];
  report('median, p99, longest delay', `${median} ms, ${p99} ms, ${Math.max(0, ...lateMs)} ms`);
  const failures = product
    .stderr()
    .split('\n')
    .filter((line) => line.includes('a webhook cannot be delivered'));
  process.stderr.write(`${failures[0] ?? ''}\n`);
  report('failures of workers', String(failures.length));
  await many.stop();
  process.stdout.write(markdownTable(['Figure', 'Value'], rows));
} finally {
  await product.stop();
  await rm(dataDir, { recursive: true, force: true });
  await endShared();
}
