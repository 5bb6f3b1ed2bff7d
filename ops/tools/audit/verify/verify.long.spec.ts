import { expect } from 'chai';
import { Bench } from '../../../test/e2e/harness.js';
import { kafkaStartMs } from '../../../test/support/kafka.js';
import { serversFor, startStackProduct } from '../../../test/support/product.js';
import type { Verification } from './report.js';
import { createTraffic, runUnderLoad } from '../../../test/support/audit/traffic.js';
import { startLinklogCli } from '../../../test/support/process.js';

const runs = 20;

describe('audit verify, on a whole stack under load', function () {
  this.timeout(kafkaStartMs + runs * 60_000);

  it(`finds no difference, ${runs} times`, async () => {
    const bench = new Bench();
    try {
      bench.use(await startStackProduct());
      const { dataDir } = bench.product;
      const env = { ...(await serversFor(dataDir, true)), DATA_DIR: dataDir };
      const traffic = await createTraffic(bench);
      const events: number[] = [];
      const acts = await runUnderLoad(bench, traffic, async () => {
        for (let run = 1; run <= runs; run += 1) {
          const output = await startLinklogCli(['audit', 'verify', '--json'], env).ended;
          expect(output.exitCode, output.stderr).to.equal(0);
          events.push((JSON.parse(output.stdout) as Verification).events);
        }
      });
      expect(events).to.deep.equal([...new Set(events)].sort((a, b) => a - b));
      expect(acts).to.be.above(runs);
    } finally {
      await bench.end();
    }
  });
});
