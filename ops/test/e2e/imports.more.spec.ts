import { expect } from 'chai';
import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventuallyPasses } from '../support/waiting.js';
import { sharedProduct } from './harness.js';

describe('an upload of an import file', () => {
  const bench = sharedProduct();

  /** Starts an upload, and sends a row with a URL of so many characters each second. */
  const upload = async (name: string, seconds: number, length: number): Promise<number> => {
    const { key } = await bench.key('PRO', { account: `${name}-imports` });
    const headers = { Authorization: `Bearer ${key}` };
    const options = { agent: false, method: 'POST', headers };
    const client = request(`${bench.product.api}/v2/imports`, options);
    // The connection is closed with the response.
    client.on('error', () => undefined);
    let status: number | undefined;
    const received = once(client, 'response').then(([response]) => {
      status = (response as { readonly statusCode: number }).statusCode;
    });
    client.write('code,url\n');
    for (let second = 0; second < seconds && status === undefined; second += 1) {
      client.write(`${name}-${second},https://example.com/${'x'.repeat(length)}\n`);
      await sleep(1_000);
    }
    if (status === undefined) client.end(`${name}-end,https://example.com/\n`);
    await received;
    return status ?? 0;
  };

  it('may take longer than other requests', async () => {
    // The limit of other requests is 30 s, and is checked every 5 s.
    expect(await upload('long', 36, 1_500)).to.equal(202);
    await eventuallyPasses(async () => {
      expect((await bench.visit('long-end')).status).to.equal(302);
    });
  }).timeout(120_000);

  it('gets 408 if it has less than 1 KB/s over 10 s', async () => {
    expect(await upload('slow', 36, 10)).to.equal(408);
  }).timeout(120_000);
});
