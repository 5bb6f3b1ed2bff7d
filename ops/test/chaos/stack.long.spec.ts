import { expect } from 'chai';
import { randomInt } from 'node:crypto';
import { stackRounds } from './stack-rounds.js';
import { needs } from '../support/needs.js';
import { stackPrograms } from '../support/stack.js';

describe('chaos: stack, each part killed and paused, each link failing, under load', () => {
  needs(...stackPrograms);

  it('keeps every promise, and its read models equal the fold of the log', async function () {
    this.timeout(480_000);
    const seed = randomInt(1, 2 ** 31);
    // Each fault of each kind of part once: 6 kills, 6 pauses, 9 of links.
    const only = ({ index }: { readonly index: number }): boolean => index === 0;
    const { broken } = await stackRounds({ brokers: 1, faults: 21, only, seed, longestMs: 4_000 });
    expect(broken, `seed ${seed}`).to.deep.equal([]);
  });
});
