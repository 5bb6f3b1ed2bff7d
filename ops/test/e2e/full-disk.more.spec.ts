import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import type { HttpResponse } from '../support/http.js';
import { runToEnd, temporaryDir } from '../support/process.js';
import { startProduct } from '../support/product.js';
import { eventuallyPasses, within } from '../support/waiting.js';
import { Bench, destination } from './harness.js';
import { needs } from '../support/needs.js';
import { mountTmpfs, type Tmpfs } from '../support/tmpfs.js';

/** Twice the deadline of the contract, for a busy machine. */
const refusedWithinMs = 4_000;

const expectUnavailable = (response: HttpResponse): void => {
  expect(response.status, response.text).to.equal(503);
  expect(response.headers['retry-after']).to.match(/^[1-9]\d*$/);
};

/** Visits the link concurrently. @returns the number of redirects; all other responses must be 503 */
const countRedirects = async (bench: Bench, code: string, times: number): Promise<number> => {
  const responses = await Promise.all(Array.from({ length: times }, () => bench.visit(code)));
  const refused = responses.filter(({ status }) => status !== 302);
  refused.forEach(expectUnavailable);
  return times - refused.length;
};

/** Visits the link until the last block of the spool file is full, in the middle of a record. */
const countRedirectsUntilFull = async (bench: Bench, code: string): Promise<number> => {
  let sum = 0;
  for (;;) {
    const passed = await countRedirects(bench, code, 100);
    if (passed === 0) return sum;
    sum += passed;
  }
};

describe('product: on a full disk', function () {
  this.timeout(120_000);
  needs('mount');
  const bench = new Bench();
  let disk: Tmpfs;
  let dataDir: string;
  let key: string;

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

  it('of the spool: visits get 503 until there is space; other requests succeed', async () => {
    disk = await mountTmpfs(1);
    const options = { dataDir, env: { SPOOL_DIR: disk.dir } };
    bench.use(await startProduct(options));
    ({ key } = await bench.key('PRO'));
    const { shortCode } = await bench.link(key);
    let counted = await countRedirects(bench, shortCode, 50);

    await disk.fill();
    counted += await countRedirectsUntilFull(bench, shortCode);
    // A click of a limited link is an event of the outbox, which needs no spool.
    const limited = await bench.link(key, { maxClicks: 5 });
    expect(await countRedirects(bench, limited.shortCode, 5)).to.equal(5);
    expect((await bench.visit(limited.shortCode)).status).to.equal(410);
    await bench.expectClicks(shortCode, key, counted);

    await disk.deleteFiller();
    expect(await countRedirects(bench, shortCode, 50)).to.equal(50);
    counted += 50;

    await disk.fill();
    counted += await countRedirectsUntilFull(bench, shortCode);
    await bench.product.killTree();
    await disk.deleteFiller();
    bench.use(await startProduct(options));
    await bench.expectClicks(shortCode, key, counted);
    await bench.expectClicks(limited.shortCode, key, 5);
  });

  it('of PostgreSQL: cached links redirect, other requests get 503 in time, until there is space', async () => {
    disk = await mountTmpfs(256);
    const options = { dataDir: path.join(disk.dir, 'data'), env: { SPOOL_DIR: dataDir } };
    bench.use(await startProduct(options));
    ({ key } = await bench.key('PRO'));
    const { shortCode } = await bench.link(key);
    const limited = await bench.link(key, { maxClicks: 1 });
    let counted = await countRedirects(bench, shortCode, 5);

    const url = await runningPostgresUrl(options.dataDir);
    const client = new pg.Client({ connectionString: url ?? '' });
    // PostgreSQL ends below; an unhandled error would end this process.
    client.on('error', () => undefined);
    await client.connect();
    await disk.fill();
    // PostgreSQL cannot create the next WAL segment and ends, repeatedly.
    const failure = await client.query('SELECT pg_switch_wal()').then(
      () => null,
      (error: unknown) => (error as Error).message,
    );
    // Another process may have needed that segment before.
    if (failure !== null) expect(failure).to.match(/No space left on device|terminat/);
    const orders = Array.from({ length: 20 }, () => randomUUID());
    const shorten = (order: string): Promise<HttpResponse> =>
      bench.shorten(key, { url: destination }, { 'Idempotency-Key': order });
    for (const order of orders) {
      const responses = Promise.all([shorten(order), bench.visit(limited.shortCode)]);
      (await within(refusedWithinMs, 'both requests get 503', responses)).forEach(
        expectUnavailable,
      );
      expect(await countRedirects(bench, shortCode, 5)).to.equal(5);
      counted += 5;
    }

    const lines = bench.product.stderr();
    expect(lines).to.include('no space left in DATA_DIR; PostgreSQL is down until there is');
    expect(lines).not.to.include('restarting a process that is down');
    const other = await runToEnd({ DATA_DIR: path.join(disk.dir, 'other') });
    expect(other.stderr).to.match(/^linklog: no space left in DATA_DIR \/.+\/other: /m);

    await disk.deleteFiller();
    await eventuallyPasses(async () => {
      expect((await shorten(orders[0] ?? '')).status).to.equal(201);
    }, 60_000);
    const retries = await Promise.all(orders.map(shorten));
    expect(retries.map(({ status }) => status)).to.deep.equal(orders.map(() => 201));
    expect(await bench.usage(key)).to.include({ links: 2 + orders.length });
    // None of the refused visits took the only click.
    expect(await countRedirects(bench, limited.shortCode, 1)).to.equal(1);
    expect((await bench.visit(limited.shortCode)).status).to.equal(410);
    await bench.expectClicks(shortCode, key, counted);
    await bench.expectClicks(limited.shortCode, key, 1);
  });
});
