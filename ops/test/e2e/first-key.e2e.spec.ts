import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { ask } from '../support/http.js';
import { withProduct, type Link } from './harness.js';

describe('product: first key', () => {
  const bench = withProduct();

  it('comes with a curl command that works', async () => {
    const line = bench.product
      .stdout()
      .split('\n')
      .find((each) => each.split(' ')[0] === 'curl');
    const { stdout } = await promisify(execFile)('bash', ['-c', line ?? '']);
    const link = JSON.parse(stdout) as Link;
    expect(link.url).to.equal('https://example.com/');
    // `localhost`, as a person would open it.
    const visit = await ask(link.shortUrl);
    expect([visit.status, visit.headers.location]).to.deep.equal([302, 'https://example.com/']);
  });
});
