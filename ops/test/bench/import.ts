import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import type { ImportResponse } from '../../../schemas/http/imports.js';
import { createLinks } from '../support/create-links.js';
import { sendRequest } from '../support/http.js';
import { median } from '../support/median.js';
import { wholeNumber } from '../support/options.js';
import { generousPlansFile } from '../support/plans.js';
import { temporaryDir } from '../support/process.js';
import { startEmbeddedProduct } from '../support/product.js';
import { openStatusClient } from '../support/status-client.js';
import { markdownTable } from '../support/table.js';
import { readMemory } from './memory.js';

/**
 * Imports a CSV file into everything in one process: links a second, memory, and redirects of other links meanwhile,
 * relative to those before the import:
 * `node dist/ops/test/bench/import.js [--rows N] [--rounds N] [--seconds N]`
 *
 * Redirects are requested in every second window of an import, so that its speed is measured with and without them.
 * Each import has other rows.
 */
const { rows, rounds, seconds } = new Command('import')
  .option('--rows <count>', 'rows of a file', wholeNumber, 1_000_000)
  .option('--rounds <count>', 'imports', wholeNumber, 3)
  .option('--seconds <count>', 'length of a window', wholeNumber, 10)
  .parse()
  .opts<Record<'rows' | 'rounds' | 'seconds', number>>();

const otherLinks = 1_000;
const connections = 32;
const rowsOfChunk = 1_000;
const memoryEveryMs = 250;

const dataDir = await temporaryDir();
const product = await startEmbeddedProduct({
  dataDir,
  env: { PLANS_FILE: await generousPlansFile(dataDir), IMPORT_MAX_BYTES: '1000000000' },
});
const { api, edge } = product;
const { key } = await product.createKey({ plan: 'PRO' });
const authorization = { Authorization: `Bearer ${key}` };
const codes = await createLinks(api, key, otherLinks, (index) => `https://example.com/${index}`);

async function* csv(round: number): AsyncGenerator<Uint8Array> {
  yield Buffer.from('code,url,title,clicks\n');
  for (let from = 0; from < rows; from += rowsOfChunk) {
    const chunk = Array.from({ length: Math.min(rowsOfChunk, rows - from) }, (_, index) => {
      const number = from + index;
      return `i${round}-${number},https://shop${number % 7}.example.com/articles/${number},Article ${number},${number % 50}\n`;
    });
    yield await Promise.resolve(Buffer.from(chunk.join('')));
  }
}

const readImport = async (id: string): Promise<ImportResponse> =>
  (
    await sendRequest(`${api}/v2/imports/${id}`, { headers: authorization })
  ).json() as ImportResponse;

/** Redirects a second, by connections that each send the next request after the response to the last one. */
const measureRedirects = async (): Promise<number> => {
  const startedAt = performance.now();
  let redirects = 0;
  const request = async (connection: number): Promise<void> => {
    const client = openStatusClient(edge);
    for (let n = connection; performance.now() - startedAt < seconds * 1_000; n += connections) {
      const code = codes[n % codes.length] ?? '';
      const status = await client.send(`GET /${code} HTTP/1.1\r\nHost: a\r\n\r\n`);
      if (status !== '302') throw new Error(`a visit got ${status}`);
      redirects += 1;
    }
    client.close();
  };
  await Promise.all(Array.from({ length: connections }, (_, index) => request(index)));
  return (redirects * 1_000) / (performance.now() - startedAt);
};

/** Reads the memory until `stop`. */
const watchMemory = async () => {
  const before = await readMemory(product);
  const most = { ...before };
  let isStopped = false;
  const watch = async (): Promise<void> => {
    while (!isStopped) {
      const now = await readMemory(product);
      most.node = Math.max(most.node, now.node);
      most.postgres = Math.max(most.postgres, now.postgres);
      await sleep(memoryEveryMs);
    }
  };
  const watching = watch();
  return {
    async stop() {
      isStopped = true;
      await watching;
      const growth = (what: 'node' | 'postgres'): string =>
        `${Math.round(before[what])} MiB +${Math.round(most[what] - before[what])}`;
      return [growth('node'), growth('postgres')];
    },
  };
};

/** Links a second of the windows, `–` without a complete one. */
const rate = (values: readonly number[]): string =>
  values.length === 0 ? '–' : Math.round(median(values)).toLocaleString('en-US');

const measureRound = async (round: number): Promise<readonly string[]> => {
  await measureRedirects();
  const before = await measureRedirects();
  const memory = await watchMemory();
  const startedAt = performance.now();
  const response = await fetch(`${api}/v2/imports?format=csv`, {
    method: 'POST',
    headers: authorization,
    body: csv(round),
    duplex: 'half',
  });
  const uploadMs = performance.now() - startedAt;
  if (response.status !== 202) throw new Error(`${response.status} ${await response.text()}`);
  const { id } = (await response.json()) as ImportResponse;
  const [alone, loaded, during]: [number[], number[], number[]] = [[], [], []];
  let imported = await readImport(id);
  for (let window = 0; imported.status === 'running'; window += 1) {
    const [from, rowsBefore] = [performance.now(), imported.rows];
    const redirects = window % 2 === 0 ? await measureRedirects() : null;
    if (redirects === null) await sleep(seconds * 1_000);
    imported = await readImport(id);
    const perSecond = ((imported.rows - rowsBefore) * 1_000) / (performance.now() - from);
    // The last window is not complete.
    if (imported.status !== 'running') break;
    (redirects === null ? alone : loaded).push(perSecond);
    if (redirects !== null) during.push(redirects);
  }
  if (imported.created !== rows) throw new Error(`${imported.created} links of ${rows}`);
  const sizes = await memory.stop();
  const after = await measureRedirects();
  const idle = (before + after) / 2;
  const ratio = during.length === 0 ? '–' : `${Math.round((median(during) / idle) * 100)} %`;
  const upload = `${(uploadMs / 1_000).toFixed(1)} s`;
  const idleRedirects = Math.round(idle).toLocaleString('en-US');
  return [upload, rate(alone), rate(loaded), ...sizes, idleRedirects, rate(during), ratio];
};

const results: (readonly string[])[] = [];
try {
  for (let round = 1; round <= rounds; round += 1) {
    const result = await measureRound(round);
    process.stderr.write(`${result.join('  ')}\n`);
    results.push(result);
  }
  const head = [
    ...['upload', 'links/s', 'links/s with redirects', 'RSS of Node', 'PSS of PostgreSQL'],
    ...['redirects/s before and after', 'redirects/s during', 'ratio'],
  ];
  process.stdout.write(`${rows} rows\n\n${markdownTable(head, results)}`);
} finally {
  await product.stop();
  await rm(dataDir, { recursive: true, force: true });
}
