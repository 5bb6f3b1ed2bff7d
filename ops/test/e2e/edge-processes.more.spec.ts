import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { parseExposition, total } from '../support/exposition.js';
import { sendRequest } from '../support/http.js';
import { startEmbeddedProduct } from '../support/product.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { Bench } from './harness.js';

const readyLine = z.object({
  edges: z.array(z.object({ pid: z.number(), admin: z.string() })),
});

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('product: EDGE_PROCESSES=2', function () {
  this.timeout(120_000);
  const bench = new Bench();
  let edges: z.infer<typeof readyLine>['edges'];
  let key: string;

  before(async () => {
    const env = { EDGE_PROCESSES: '2' };
    bench.use(await startEmbeddedProduct({ env }));
    ({ edges } = readyLine.parse(bench.product.ready));
    ({ key } = await bench.key('PRO'));
  });
  after(() => bench.product.cleanup());

  /** Visits the link, each time on a new connection, until `isOver`. @returns the number of redirects */
  const visitUntil = async (code: string, isOver: () => boolean): Promise<number> => {
    let redirected = 0;
    while (!isOver()) {
      const options = { headers: { Connection: 'close' } };
      // The killed process resets its connections.
      const status = await bench.visit(code, options).then(
        (response) => response.status,
        () => null,
      );
      if (status === 302) redirected += 1;
      else expect(status).to.equal(null);
    }
    return redirected;
  };

  it('serves visitors by two processes, each with its own metrics', async () => {
    expect(edges).to.have.length(2);
    const { shortCode } = await bench.link(key);
    for (let visit = 0; visit < 20; visit += 1) {
      const response = await bench.visit(shortCode, { headers: { Connection: 'close' } });
      expect(response.status).to.equal(302);
    }
    for (const { admin } of edges) {
      expect((await sendRequest(`${admin}/health/ready`)).status).to.equal(200);
      const series = parseExposition((await sendRequest(`${admin}/metrics`)).text);
      const labels = { listener: 'edge', status: '302' };
      const count = total(series, 'linklog_http_request_duration_seconds_count', labels);
      expect(count).to.equal(10);
    }
    await bench.expectClicks(shortCode, key, 20);
  });

  it('loses no visit when a process is killed, and restarts it', async () => {
    const { shortCode } = await bench.link(key);
    let over = false;
    const visitors = Array.from({ length: 8 }, () => visitUntil(shortCode, () => over));
    await sleep(500);
    const [victim] = edges;
    process.kill(victim?.pid ?? 0, 'SIGKILL');
    await eventually(
      'the process is restarted',
      () =>
        /^\{"event":"restarted","service":"edge","index":0,"pid":\d+\}$/m.test(
          bench.product.stdout(),
        ),
      40_000,
    );
    await sleep(500);
    over = true;
    const redirected = (await Promise.all(visitors)).reduce((sum, count) => sum + count, 0);
    // Visits in flight at the kill may be counted without a response.
    await eventuallyPasses(async () => {
      const { clickCount } = await bench.stats(shortCode, key);
      expect(clickCount).to.be.within(redirected, redirected + visitors.length);
    }, 40_000);
  });

  it('stops all processes', async () => {
    const { stdout } = await bench.product.stop();
    const restarted = [...stdout.matchAll(/"restarted".*"pid":(\d+)/g)].map(([, pid]) =>
      Number(pid),
    );
    expect(restarted).to.have.length(1);
    expect([...edges.map(({ pid }) => pid), ...restarted].filter(isAlive)).to.deep.equal([]);
  });
});
