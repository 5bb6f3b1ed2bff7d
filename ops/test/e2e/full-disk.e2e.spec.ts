import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { pausePostgres } from '../../tools/cli/testing/spool-ship.suite.js';
import type { HttpResponse } from '../support/http.js';
import { temporaryDir } from '../support/process.js';
import { startEmbeddedProduct, startProduct } from '../support/product.js';
import { mountTmpfs, type Tmpfs } from '../support/tmpfs.js';
import { eventuallyPasses, within } from '../support/waiting.js';
import { Bench, destination } from './harness.js';

/** Twice what the contract promises: this machine may be busy itself. */
const refusedWithinMs = 4_000;

const expectUnavailable = (response: HttpResponse): void => {
  expect(response.status, response.text).to.equal(503);
  expect(response.headers['retry-after']).to.match(/^[1-9]\d*$/);
};

/** Asks so often at once; how many were redirected. The others must have got 503. */
const redirected = async (bench: Bench, code: string, times: number): Promise<number> => {
  const responses = await Promise.all(Array.from({ length: times }, () => bench.visit(code)));
  const refused = responses.filter(({ status }) => status !== 302);
  refused.forEach(expectUnavailable);
  return times - refused.length;
};

/** Asks until the last block of the spool's file is full, in the midst of a record. */
const redirectedUntilNone = async (bench: Bench, code: string): Promise<number> => {
  let sum = 0;
  for (;;) {
    const passed = await redirected(bench, code, 100);
    if (passed === 0) return sum;
    sum += passed;
  }
};

describe('product: on a full disk', function () {
  this.timeout(120_000);
  const bench = new Bench();
  let disk: Tmpfs;
  let dataDir: string;
  let key: string;

  const expectClicks = (code: string, count: number): Promise<void> =>
    eventuallyPasses(30_000, async () => {
      expect((await bench.stats(code, key)).clickCount).to.equal(count);
    });

  beforeEach(async () => {
    dataDir = await temporaryDir();
  });
  afterEach(async () => {
    try {
      await bench.end();
    } finally {
      await disk.unmount();
      await rm(dataDir, { recursive: true });
    }
  });

  it('the spool’s: visits get 503, all else goes on, and so do visits once there is room', async () => {
    disk = await mountTmpfs(1);
    const options = { dataDir, env: { SPOOL_DIR: disk.dir } };
    bench.use(await startProduct(options));
    ({ key } = await bench.key('PRO'));
    const { shortCode } = await bench.link(key);
    let counted = await redirected(bench, shortCode, 50);

    await disk.fill();
    counted += await redirectedUntilNone(bench, shortCode);
    const limited = await bench.link(key, { maxClicks: 5 });
    expect(await redirected(bench, limited.shortCode, 1)).to.equal(1);
    await expectClicks(shortCode, counted);

    await disk.deleteFiller();
    expect(await redirected(bench, shortCode, 50)).to.equal(50);
    counted += 50;

    await disk.fill();
    counted += await redirectedUntilNone(bench, shortCode);
    await bench.product.killTree();
    await disk.deleteFiller();
    bench.use(await startProduct(options));
    await expectClicks(shortCode, counted);
    await expectClicks(limited.shortCode, 1);
  });

  it('the spool’s, filled by the spool: it empties by itself when the log is back', async () => {
    disk = await mountTmpfs(1);
    const env = { SPOOL_DIR: disk.dir, SPOOL_MAX_BYTES: String(2 ** 21) };
    bench.use(await startEmbeddedProduct({ dataDir, env }));
    ({ key } = await bench.key('PRO'));
    const { shortCode } = await bench.link(key);
    expect(await redirected(bench, shortCode, 1)).to.equal(1);
    let counted = 1;

    const goOn = await pausePostgres(bench.product);
    try {
      counted += await redirectedUntilNone(bench, shortCode);
    } finally {
      goOn();
    }
    await eventuallyPasses(30_000, async () => {
      const passed = await redirected(bench, shortCode, 1);
      counted += passed;
      expect(passed).to.equal(1);
    });
    await expectClicks(shortCode, counted);
    expect((await readdir(disk.dir)).filter((name) => name.endsWith('.bad'))).to.deep.equal([]);
  });

  it('PostgreSQL’s: warm links redirect, the rest gets 503 in time, and all goes on with room', async () => {
    disk = await mountTmpfs(256);
    const options = { dataDir: path.join(disk.dir, 'data'), env: { SPOOL_DIR: dataDir } };
    bench.use(await startProduct(options));
    ({ key } = await bench.key('PRO'));
    const { shortCode } = await bench.link(key);
    const limited = await bench.link(key, { maxClicks: 1_000 });
    let counted = await redirected(bench, shortCode, 5);

    const url = await runningPostgresUrl(options.dataDir);
    const client = new pg.Client({ connectionString: url ?? '' });
    // PostgreSQL ends below; without a listener, that would end this process.
    client.on('error', () => undefined);
    await client.connect();
    await disk.fill();
    // The log that PostgreSQL writes next needs a file that it cannot make: it ends, again and again.
    const failure = await client.query('SELECT pg_switch_wal()').then(
      () => null,
      (error: unknown) => (error as Error).message,
    );
    // Another process may have needed that file before.
    if (failure !== null) expect(failure).to.match(/No space left on device|terminat/);
    const orders = Array.from({ length: 20 }, () => randomUUID());
    const shorten = (order: string): Promise<HttpResponse> =>
      bench.shorten(key, { url: destination }, { 'Idempotency-Key': order });
    for (const order of orders) {
      const responses = Promise.all([shorten(order), bench.visit(limited.shortCode)]);
      (await within(refusedWithinMs, 'both are refused', responses)).forEach(expectUnavailable);
      expect(await redirected(bench, shortCode, 5)).to.equal(5);
      counted += 5;
    }

    await disk.deleteFiller();
    await eventuallyPasses(60_000, async () => {
      expect((await shorten(orders[0] ?? '')).status).to.equal(201);
    });
    const retries = await Promise.all(orders.map(shorten));
    expect(retries.map(({ status }) => status)).to.deep.equal(orders.map(() => 201));
    const usage = (await bench.api('/v2/usage', key)).json() as { links: { used: number } };
    expect(usage.links.used).to.equal(2 + orders.length);
    expect(await redirected(bench, limited.shortCode, 1)).to.equal(1);
    await expectClicks(shortCode, counted);
    await expectClicks(limited.shortCode, 1);
  });
});
