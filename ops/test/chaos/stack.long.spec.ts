import { expect } from 'chai';
import { randomInt } from 'node:crypto';
import { stackRounds } from './stack-rounds.js';

describe('chaos: stack, each part paused, and killed with -9, under load', () => {
  it('keeps every promise, and its read models are a fold of the log', async function () {
    this.timeout(480_000);
    const seed = randomInt(1, 2 ** 31);
    const { broken, suffered } = await stackRounds({
      // A pause and a kill of each kind: an API, an edge, a projector, Kafka, PostgreSQL, Redis.
      faults: 12,
      only: ({ index }) => index === 0,
      seed,
      pace: {
        creations: { perSecond: 20, atOnce: 20 },
        visits: { perSecond: 100, atOnce: 20 },
      },
      longestPauseMs: 4_000,
      pauseMs: 500,
    });
    expect(broken, `seed ${seed}`).to.deep.equal([]);
    expect(suffered).to.have.length(12);
  });
});
