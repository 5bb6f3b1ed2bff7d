import { expect } from 'chai';
import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventuallyPasses } from '../support/waiting.js';
import { sharedProduct } from './harness.js';

describe('an upload of an import file', () => {
  const bench = sharedProduct();

  it('may take longer than other requests', async function () {
    this.timeout(120_000);
    const { key } = await bench.key('PRO', { account: 'slow-imports' });
    const headers = { Authorization: `Bearer ${key}` };
    const options = { agent: false, method: 'POST', headers };
    const client = request(`${bench.product.api}/v2/imports`, options);
    const received = once(client, 'response');
    client.write('code,url\n');
    // The limit of other requests is 30 s, and is checked every 5 s.
    for (let second = 0; second < 36; second += 1) {
      client.write(`slow-${second},https://example.com/\n`);
      await sleep(1_000);
    }
    client.end('slow-end,https://example.com/\n');
    const [response] = (await received) as [{ readonly statusCode: number }];
    expect(response.statusCode).to.equal(202);
    await eventuallyPasses(async () => {
      expect((await bench.visit('slow-end')).status).to.equal(302);
    });
  });
});
