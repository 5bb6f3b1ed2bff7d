import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { proveStatistics } from './statistics-proof.js';

describe('chaos: statistics, with projectors killed with -9', () => {
  it('equal the counts of 302 for each link and the account, also after a rebuild', async function () {
    this.timeout(180_000);
    const seed = randomInt(1, 2 ** 31);
    const proof = { visits: 5_000, links: 50, clients: 64, killEveryMs: 500, seed };
    expect(await proveStatistics(proof), `seed ${seed}`).to.deep.equal([]);
  });
});
