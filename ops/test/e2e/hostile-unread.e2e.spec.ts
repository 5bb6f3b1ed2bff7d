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
    // Its responses are small: it takes many to fill the buffers of the kernel, some 3 MB for each connection.
    ['edge', '/no/code', 10],
    ['admin', '/metrics', 120],
  ] as const) {
    it(`do not exhaust the memory, and are disconnected: ${listener}`, async function () {
      this.timeout(120_000);
      const { product } = bench;
      const before = await product.rssMiB();
      let most = before;
      const flood = floodWithoutReading(product[listener], { path, connections });
      try {
        await eventually(
          'each connection is ended',
          async () => {
            await sleep(200);
            most = Math.max(most, await product.rssMiB());
            return flood.ended() >= connections;
          },
          60_000,
        );
      } finally {
        flood.end();
      }
      expect(most - before).to.be.below(maxGrowthMiB);
      expect((await sendRequest(`${product[listener]}/health`)).status).to.equal(200);
    });
  }
});
