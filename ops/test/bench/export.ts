import { rm } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { createLogger } from '../../platform/logging.js';
import { createPool } from '../../platform/postgres/pool.js';
import { exportFormats, type ExportFormat } from '../../../schemas/http/export.js';
import { wholeNumber } from '../support/options.js';
import { temporaryDir } from '../support/process.js';
import { startEmbeddedProduct } from '../support/product.js';
import { watchRss } from '../support/rss.js';
import { markdownTable } from '../support/table.js';
import { cpuMsOfTree } from './cpu-ms.js';
import { account, fillWithLinks } from './many-links.js';

/**
 * Exports the links of an account of everything in one process: links a second, CPU time and memory, also with a slow
 * reader.
 * `node dist/ops/test/bench/export.js [--links N] [--rounds N] [--seconds N]`
 */
const { links, rounds, seconds } = new Command('export')
  .option('--links <count>', 'links of the account', wholeNumber, 1_000_000)
  .option('--rounds <count>', 'exports of each format', wholeNumber, 3)
  .option('--seconds <count>', 'time of the slow reader', wholeNumber, 60)
  .parse()
  .opts<Record<'links' | 'rounds' | 'seconds', number>>();

/** Bytes a second of the slow reader. */
const slowBytes = 10_000;

const dataDir = await temporaryDir();
const product = await startEmbeddedProduct({ dataDir });
const { admin, adminToken, pid } = product;

const fill = async (): Promise<void> => {
  const url = await runningPostgresUrl(dataDir);
  if (url === null) throw new Error('the embedded PostgreSQL does not run');
  const logger = createLogger('silent');
  const pool = createPool({ url, name: 'fill', max: 2, deadlines: 'patient', logger });
  await fillWithLinks(pool, links);
  await pool.end();
};

const open = (format: ExportFormat): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${adminToken}` };
    get(`${admin}/admin/export?account=${account}&format=${format}`, { headers }, (response) => {
      if (response.statusCode === 200) resolve(response);
      else reject(new Error(`the export was refused with ${response.statusCode ?? 0}`));
    }).once('error', reject);
  });

const megabytes = (bytes: number): string => `${Math.round(bytes / 1_000_000)} MB`;

const measure = async (format: ExportFormat): Promise<readonly string[]> => {
  const rss = await watchRss(product);
  const cpuBefore = cpuMsOfTree(pid);
  const startedAt = performance.now();
  let lines = 0;
  let bytes = 0;
  for await (const chunk of (await open(format)) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1;
  }
  const ms = performance.now() - startedAt;
  const cpuMs = cpuMsOfTree(pid) - cpuBefore;
  const { before, most } = await rss.stop();
  const exported = format === 'csv' ? lines - 1 : lines;
  if (exported !== links) throw new Error(`${exported} links of ${links} were exported`);
  return [
    ...[format, megabytes(bytes), `${(ms / 1_000).toFixed(1)} s`],
    `${Math.round((exported / ms) * 1_000).toLocaleString('en-US')} links/s`,
    ...[`${Math.round((cpuMs / exported) * 1_000)} µs`, `${before} MiB`, `+${most - before} MiB`],
  ];
};

const measureSlowReader = async (): Promise<readonly string[]> => {
  const rss = await watchRss(product);
  const cpuBefore = cpuMsOfTree(pid);
  const response = await open('jsonl');
  response.pause();
  let bytes = 0;
  for (let second = 0; second < seconds; second += 1) {
    await sleep(1_000);
    const chunk = response.read(slowBytes) as Buffer | null;
    bytes += chunk?.length ?? 0;
    if (response.destroyed) throw new Error('the slow reader was disconnected');
  }
  response.destroy();
  const cpuMs = cpuMsOfTree(pid) - cpuBefore;
  const { before, most } = await rss.stop();
  return [
    ...[`jsonl, ${slowBytes / 1_000} KB/s`, megabytes(bytes), `${seconds} s`, '–'],
    ...[`${cpuMs} ms in all`, `${before} MiB`, `+${most - before} MiB`],
  ];
};

const rows: (readonly string[])[] = [];
try {
  await fill();
  for (const format of exportFormats) {
    for (let round = 0; round < rounds; round += 1) {
      const row = await measure(format);
      process.stderr.write(`${row.join('  ')}\n`);
      rows.push(row);
    }
  }
  rows.push(await measureSlowReader());
  const head = ['export', 'size', 'time', 'rate', 'CPU a link', 'memory before', 'growth'];
  process.stdout.write(`${markdownTable(head, rows)}\n`);
} finally {
  await product.stop();
  await rm(dataDir, { recursive: true, force: true });
}
