import { expect } from 'chai';
import { randomInt } from 'node:crypto';
import { needs } from '../support/needs.js';
import { stackPrograms } from '../support/stack.js';
import { clientRounds } from './client-rounds.js';

describe('chaos: client, through a lossy proxy, while APIs are killed', () => {
  needs(...stackPrograms);

  it('creates each link at most once, and reads each event once, in order', async function () {
    this.timeout(240_000);
    const seed = randomInt(1, 2 ** 31);
    const { broken, figures } = await clientRounds({ links: 500, events: 2_000, seed });
    expect(broken, `seed ${seed}`).to.deep.equal([]);
    expect(figures['links returned']).to.be.above(0);
    expect(figures['kills of an API']).to.be.above(0);
  });
});
