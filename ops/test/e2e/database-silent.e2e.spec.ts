import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { stopProcess } from '../support/process.js';
import type { HttpResponse } from '../support/http.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { destination, productFixture } from './harness.js';

/** Each deadline expires several times. `DATABASE_SILENT_MS=60000` is the long form. */
const silentMs = Number(process.env['DATABASE_SILENT_MS'] ?? 6_000);
/** Twice the deadlines of the contract, for a busy machine. */
const cachedWithinMs = 1_000;
const refusedWithinMs = 4_000;

interface TimedResponse {
  readonly response: HttpResponse;
  readonly ms: number;
}

describe('product: while PostgreSQL is unresponsive', () => {
  const bench = productFixture();
  const postmaster = async (): Promise<number> => {
    const pidFile = path.join(bench.product.dataDir, 'postgres/cluster/postmaster.pid');
    return Number((await readFile(pidFile, 'utf8')).split('\n')[0]);
  };

  const ask = async (request: Promise<HttpResponse>): Promise<TimedResponse> => {
    const began = performance.now();
    return { response: await request, ms: performance.now() - began };
  };

  it('redirects cached links, responds with 503 to other requests in time, and loses or spends nothing twice', async function () {
    this.timeout(silentMs + 60_000);
    const { key } = await bench.key('PRO');
    const cached = await bench.link(key);
    const uncached = await bench.link(key);
    const limited = await bench.link(key, { maxClicks: 1_000_000 });
    expect((await bench.visit(cached.shortCode)).status).to.equal(302);
    expect((await bench.visit(limited.shortCode)).status).to.equal(302);

    const visits: Promise<TimedResponse>[] = [];
    const refused: Promise<TimedResponse>[] = [];
    const resume = await stopProcess(await postmaster());
    const until = performance.now() + silentMs;
    while (performance.now() < until) {
      visits.push(ask(bench.visit(cached.shortCode)));
      refused.push(ask(bench.visit(uncached.shortCode)));
      refused.push(ask(bench.visit(limited.shortCode)));
      refused.push(ask(bench.shorten(key, { url: destination })));
      refused.push(ask(bench.api('/v2/usage', key)));
      refused.push(ask(bench.admin('GET', '/admin/platform')));
      await sleep(100);
    }
    await Promise.allSettled([...visits, ...refused]);
    resume();
    for (const { response, ms } of await Promise.all(visits)) {
      expect(response.status, response.text).to.equal(302);
      expect(ms).to.be.below(cachedWithinMs);
    }
    for (const { response, ms } of await Promise.all(refused)) {
      expect(response.status, response.text).to.equal(503);
      expect(response.headers['retry-after']).to.match(/^[1-9]\d*$/);
      expect(ms).to.be.below(refusedWithinMs);
    }
    const log = bench.product.stdout() + bench.product.stderr();
    expect(log).not.to.match(/a request failed|a visit failed|answered with 503/);

    await eventuallyPasses(20_000, async () => {
      await bench.link(key);
    });
    expect((await bench.visit(uncached.shortCode)).status).to.equal(302);
    await eventually('every visit is counted', async () => {
      const { clickCount } = await bench.stats(cached.shortCode, key);
      return clickCount === visits.length + 1;
    });
  });
});
