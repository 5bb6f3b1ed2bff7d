import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { fixture } from '../support/fixture.js';
import { kafkaPrograms } from '../support/kafka.js';
import { runFeedRounds } from './feed-rounds.js';
import { startStackTarget } from './feed-target.js';

describe('chaos: streams of events', () => {
  const target = fixture(
    () => startStackTarget(),
    ({ stop }) => stop(),
    { needs: [...kafkaPrograms, 'redis-server'] },
  );

  it('have every event of their account in order, through reconnects and kills', async () => {
    const seed = randomInt(1, 2 ** 30);
    const result = await runFeedRounds(target, {
      ...{ events: 4_000, links: 100, writers: 8, clients: 3, reconnects: 60, kills: 3, seed },
    });
    expect(result.broken, `seed ${seed}`).to.deep.equal([]);
    expect(result.events).to.be.at.least(4_000);
    expect(result.received).to.equal(result.events * 3);
  }).timeout(180_000);
});
