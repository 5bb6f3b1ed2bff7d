import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createLink, createLinks } from '../support/create-links.js';
import { median } from '../support/median.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { startEmbeddedProduct } from '../support/product.js';
import { markdownTable } from '../support/table.js';
import { cpuUsSince, productCpu } from './cpu-ms.js';

/**
 * Streams of an account that read its events from the first one on, everything in one process: the CPU time of an event
 * (that of the redirects included), and the 99th percentile of a redirect of another account without and with them:
 * `node dist/ops/test/bench/catch-up.js [EVENTS] [ROUNDS] [STREAMS]`. EVENTS is a multiple of 50. Linux only.
 */
const [events = 100_000, rounds = 6, streams = 10] = process.argv.slice(2).map(Number);
/** The lengths of the two measurements, and of the pause after them. */
const seconds = { alone: 4, beside: 6, rest: 3 };
const projectedMs = 15_000;

const dataDir = await temporaryDir();
const env = { PLANS_FILE: await generousPlansFile(dataDir), LOG_LEVEL: 'error' };
const product = await startEmbeddedProduct({ dataDir, env });
const headers = { Accept: 'text/event-stream' };

const redirectP99 = async (probeSeconds: number): Promise<number> => {
  const workerData = { url: `${product.edge}/other`, seconds: probeSeconds };
  const probe = new Worker(new URL('./redirect-probe.js', import.meta.url), { workerData });
  const [p99] = (await once(probe, 'message')) as [number];
  return p99;
};

try {
  const { key } = await product.createKey({ plan: 'PRO', account: 'behind' });
  const other = await product.createKey({ plan: 'PRO', account: 'other' });
  await createLinks(product.api, key, events, (index) => `https://example.com/articles/${index}`);
  await createLink(product.api, other.key, { alias: 'other' });
  await sleep(projectedMs);

  /** Reads a stream until the signal. Returns the number of events. */
  const readStream = async (signal: AbortSignal): Promise<number> => {
    const response = await fetch(`${product.api}/v2/events?after=start`, {
      headers: { ...headers, Authorization: `Bearer ${key}` },
      signal,
    });
    let received = 0;
    try {
      for await (const chunk of response.body as ReadableStream<Uint8Array>) {
        received += Buffer.from(chunk).toString('latin1').split('data: {').length - 1;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    return received;
  };

  const ratios: number[] = [];
  const rows: (readonly (string | number)[])[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const alone = await redirectP99(seconds.alone);
    const reading = new AbortController();
    const before = productCpu(product.pid);
    const read = Array.from({ length: streams }, () => readStream(reading.signal));
    const beside = await redirectP99(seconds.beside);
    reading.abort();
    const received = (await Promise.all(read)).reduce((sum, count) => sum + count, 0);
    const { node, postgres } = cpuUsSince(before, productCpu(product.pid), received);
    ratios.push(beside / alone);
    const figures = [alone, beside, beside / alone].map((figure) => figure.toFixed(1));
    rows.push([round, ...figures, received, Math.round(node), Math.round(postgres)]);
    await sleep(seconds.rest * 1_000);
  }
  const p99 = ['p99 alone, ms', 'beside streams, ms', 'ratio'];
  const columns = ['Round', ...p99, 'events', 'Node, µs an event', 'PostgreSQL, µs'];
  process.stdout.write(markdownTable(columns, rows));
  process.stdout.write(`\nmedian of the ratios: ${median(ratios).toFixed(1)}\n`);
} finally {
  await product.cleanup();
  await rm(dataDir, { recursive: true, force: true });
}
