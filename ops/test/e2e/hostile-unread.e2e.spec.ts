import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest } from '../support/http.js';
import { eventually } from '../support/waiting.js';
import { productFixture } from './harness.js';
import { floodWithoutReading } from './hostile/unread.js';

const maxGrowthMiB = 100;

/** The short form of `npm run fuzz:unread`. */
describe('product: clients that pipeline requests and never read a response', () => {
  const bench = productFixture({ NODE_OPTIONS: '--max-old-space-size=512' });

  for (const [listener, path, connections] of [
    ['api', '/openapi.json', 120],
    // The small responses fill the kernel's 3 MB of buffers per connection slowly.
    ['edge', '/no/code', 10],
    ['admin', '/metrics', 120],
  ] as const) {
    it(`do not exhaust the memory, and are disconnected: ${listener}`, async function () {
      this.timeout(120_000);
      const { product } = bench;
      const before = await product.rssMiB();
      let peak = before;
      const flood = floodWithoutReading(product[listener], { path, connections });
      try {
        await eventually(
          'every connection is closed',
          async () => {
            await sleep(200);
            peak = Math.max(peak, await product.rssMiB());
            return flood.ended() >= connections;
          },
          60_000,
        );
      } finally {
        flood.end();
      }
      expect(peak - before).to.be.below(maxGrowthMiB);
      expect((await sendRequest(`${product[listener]}/health`)).status).to.equal(200);
    });
  }
});
