import { expect } from 'chai';
import { randomInt } from 'node:crypto';
import { kafkaStartMs } from '../support/kafka.js';
import { stackRounds } from './stack-rounds.js';
import { needs } from '../support/needs.js';
import { stackPrograms } from '../support/stack.js';

describe('chaos: three Kafka brokers, one of them restarted, leaders moved, under load', () => {
  needs(...stackPrograms);

  it('keeps every acknowledged link, visit and click in Kafka, without gaps', async function () {
    this.timeout(kafkaStartMs);
    const seed = randomInt(1, 2 ** 31);
    const { broken, reports, counts } = await stackRounds({
      ...{ brokers: 3, nodes: 1, faults: 2, seed },
      only: ({ type, index }) => index === 0 && (type === 'restart' || type === 'election'),
      pace: {
        creations: { perSecond: 5, clients: 10 },
        visits: { perSecond: 25, clients: 20 },
      },
      longestMs: 1_000,
      pauseMs: 500,
    });
    expect(broken, `seed ${seed}`).to.deep.equal([]);
    expect(reports).to.have.length(2);
    const { links, visits, limitedClicks, gaps } = counts;
    expect([links.missing, visits.missing, limitedClicks.missing, gaps]).to.deep.equal([
      ...[0, 0, 0, 0],
    ]);
    for (const { acknowledged } of [links, visits, limitedClicks]) {
      expect(acknowledged).to.be.above(0);
    }
  });
});
