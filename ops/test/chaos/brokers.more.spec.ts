import { expect } from 'chai';
import { randomInt } from 'node:crypto';
import { kafkaStartMs } from '../support/kafka.js';
import { stackRounds } from './stack-rounds.js';
import { needs } from '../support/needs.js';
import { stackPrograms } from '../support/stack.js';

describe('chaos: three Kafka brokers, two of them restarted under load', () => {
  needs(...stackPrograms);

  it('keeps every acknowledged link, visit and click in Kafka, without gaps', async function () {
    this.timeout(kafkaStartMs);
    const seed = randomInt(1, 2 ** 31);
    const { broken, links } = await stackRounds({
      ...{ brokers: 3, nodes: 1, faults: 2, seed, longestMs: 1_000 },
      only: ({ type, part, index }) => type === 'restart' && part === 'kafka' && index < 2,
    });
    expect(broken, `seed ${seed}`).to.deep.equal([]);
    expect(links).not.to.have.length(0);
  });
});
