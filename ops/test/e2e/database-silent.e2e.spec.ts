import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { stopProcess } from '../support/process.js';
import type { Answer } from '../support/http.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { destination, productFixture } from './harness.js';

/** Long enough that each deadline passes several times. `DATABASE_SILENT_MS=60000` is the long form. */
const silentMs = Number(process.env['DATABASE_SILENT_MS'] ?? 6_000);
/** Twice what the contract promises: this machine may be busy itself. */
const warmWithinMs = 1_000;
const refusedWithinMs = 4_000;

interface Asked {
  readonly answer: Answer;
  readonly ms: number;
}

describe('product: while PostgreSQL is silent', () => {
  const bench = productFixture();
  const postmaster = async (): Promise<number> => {
    const pidFile = path.join(bench.product.dataDir, 'postgres/cluster/postmaster.pid');
    return Number((await readFile(pidFile, 'utf8')).split('\n')[0]);
  };

  const ask = async (request: Promise<Answer>): Promise<Asked> => {
    const began = performance.now();
    return { answer: await request, ms: performance.now() - began };
  };

  it('warm links redirect, the rest gets 503 in time, and nothing is lost or spent twice', async function () {
    this.timeout(silentMs + 60_000);
    const { key } = await bench.key('PRO');
    const warm = await bench.link(key);
    const cold = await bench.link(key);
    const limited = await bench.link(key, { maxClicks: 1_000_000 });
    expect((await bench.visit(warm.shortCode)).status).to.equal(302);
    expect((await bench.visit(limited.shortCode)).status).to.equal(302);

    const visits: Promise<Asked>[] = [];
    const refused: Promise<Asked>[] = [];
    const goOn = await stopProcess(await postmaster());
    const until = performance.now() + silentMs;
    while (performance.now() < until) {
      visits.push(ask(bench.visit(warm.shortCode)));
      refused.push(ask(bench.visit(cold.shortCode)));
      refused.push(ask(bench.visit(limited.shortCode)));
      refused.push(ask(bench.shorten(key, { url: destination })));
      refused.push(ask(bench.api('/v2/usage', key)));
      refused.push(ask(bench.admin('GET', '/admin/platform')));
      await sleep(100);
    }
    await Promise.allSettled([...visits, ...refused]);
    goOn();
    for (const { answer, ms } of await Promise.all(visits)) {
      expect(answer.status, answer.text).to.equal(302);
      expect(ms).to.be.below(warmWithinMs);
    }
    for (const { answer, ms } of await Promise.all(refused)) {
      expect(answer.status, answer.text).to.equal(503);
      expect(answer.headers['retry-after']).to.match(/^[1-9]\d*$/);
      expect(ms).to.be.below(refusedWithinMs);
    }
    const logged = bench.product.stdout() + bench.product.stderr();
    expect(logged).not.to.match(/a request failed|a visit failed|answered with 503|got 503/);

    await eventuallyPasses(20_000, async () => {
      await bench.link(key);
    });
    expect((await bench.visit(cold.shortCode)).status).to.equal(302);
    await eventually('every visit is counted', async () => {
      const { clickCount } = await bench.stats(warm.shortCode, key);
      return clickCount === visits.length + 1;
    });
  });
});
