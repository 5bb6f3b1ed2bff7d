import { expect } from 'chai';
import { randomInt } from 'node:crypto';
import { stackRounds } from './stack-rounds.js';

/** Each API, edge and projector's first, Kafka, PostgreSQL, Redis, and the broker stopped. */
const kinds = 7;

describe('The stack, each part killed with -9 under load', () => {
  it('keeps every promise, and its read models are a fold of the log', async function () {
    this.timeout(240_000);
    const seed = randomInt(1, 2 ** 31);
    const { broken, suffered } = await stackRounds({
      faults: kinds,
      seed,
      pace: {
        creations: { perSecond: 20, atOnce: 20 },
        visits: { perSecond: 100, atOnce: 20 },
      },
      stopMs: 4_000,
      pauseMs: 500,
      single: true,
    });
    expect(broken, `seed ${seed}`).to.deep.equal([]);
    expect(suffered).to.have.length(kinds);
  });
});
