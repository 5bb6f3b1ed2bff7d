import { expect } from 'chai';
import { sendRequest } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import { Bench } from './harness.js';
import { hostileEnvironment, startHostileRun, type HostileRun } from './hostile/run.js';

const total = 3_000;
/** Faults in the report. */
const maxReported = 10;
const slackMiB = 150;

/** The short form of `npm run fuzz:hostile`. */
describe('product: hostile requests', () => {
  const bench = new Bench();
  let run: HostileRun;

  before('start the product', async () => {
    await bench.start(await hostileEnvironment());
    run = await startHostileRun(bench);
  });

  after('stop the product', () => {
    run.end();
    return bench.end();
  });

  it(`${total.toLocaleString('en')} all get documented responses`, async function () {
    this.timeout(240_000);
    const before = await bench.product.rssMiB();
    const seed = Math.trunc(Math.random() * 2 ** 31);
    await run.send(total, seed);
    const { faults } = run;
    const report = [`${faults.length} faults, seed ${seed}`, ...faults.slice(0, maxReported)].join(
      '\n\n',
    );
    expect(faults.length, report).to.equal(0);
    for (const listener of ['api', 'edge', 'admin'] as const) {
      expect((await sendRequest(`${bench.product[listener]}/health`)).status).to.equal(200);
    }
    expect((await bench.visit(run.openCode)).status).to.equal(302);
    await eventuallyPasses(async () => {
      expect((await bench.product.rssMiB()) - before).to.be.below(slackMiB);
    });
    const lines = bench.product.stderr().split('\n');
    expect(lines.filter((line) => line.includes('"level":50'))).to.deep.equal([]);
  });
});
