import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { killRounds } from './kill-rounds.js';

describe('chaos: product, killed with -9 under load', () => {
  it('keeps every promise, and takes over a PostgreSQL that survived the kill', async function () {
    this.timeout(120_000);
    const seed = randomInt(1, 2 ** 31);
    const broken = await killRounds({ rounds: 3, seed });
    expect(broken, `seed ${seed}`).to.deep.equal([]);
  });
});
