import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { fixture } from '../support/fixture.js';
import { kafkaPrograms } from '../support/kafka.js';
import { startStackTarget } from './feed-target.js';
import { runWebhookRounds, webhookEnvironment } from './webhook-rounds.js';

describe('chaos: webhooks', () => {
  const target = fixture(
    () => startStackTarget(webhookEnvironment),
    ({ stop }) => stop(),
    { needs: [...kafkaPrograms, 'redis-server'] },
  );

  it('lose no event of failing and dead receivers, while their process is killed', async () => {
    const seed = randomInt(1, 2 ** 30);
    const plan = { events: 1_000, kills: 3, deadMs: 3_000, seed };
    const { broken, events } = await runWebhookRounds(target, plan);
    expect(broken, `seed ${seed}`).to.deep.equal([]);
    expect(events).to.be.at.least(1_000);
  }).timeout(180_000);
});
