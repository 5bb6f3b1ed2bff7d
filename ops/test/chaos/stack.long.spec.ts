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
    const { broken, reports } = await stackRounds({
      brokers: 1,
      // Each fault of each kind of part once: 6 kills, 6 pauses, 9 of links.
      faults: 21,
      only: ({ index }) => index === 0,
      seed,
      pace: {
        creations: { perSecond: 20, clients: 20 },
        visits: { perSecond: 100, clients: 20 },
      },
      longestMs: 4_000,
      pauseMs: 500,
    });
    expect(broken, `seed ${seed}`).to.deep.equal([]);
    expect(reports.flatMap(({ deadlines }) => deadlines.late)).to.deep.equal([]);
    expect(reports).to.have.length(21);
  });

  it('finds records that kafkajs retries lose while leaders move', async function () {
    this.timeout(900_000);
    const { broken, counts } = await stackRounds({
      ...{ brokers: 3, faults: 12, rolling: 3, kafkajsRetries: true },
      only: ({ type }) => type === 'restart' || type === 'election' || type === 'reassign',
      seed: randomInt(1, 2 ** 31),
      pace: {
        creations: { perSecond: 10, clients: 20 },
        visits: { perSecond: 100, clients: 34 },
      },
      longestMs: 1_000,
      pauseMs: 500,
    });
    expect(broken).not.to.deep.equal([]);
    expect(counts.gaps).to.be.above(0);
  });
});
