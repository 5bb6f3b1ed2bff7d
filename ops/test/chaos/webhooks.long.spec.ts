import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { startEmbeddedTarget, startStackTarget } from './feed-target.js';
import { runWebhookRounds, webhookEnvironment } from './webhook-rounds.js';
import { fixture } from '../support/fixture.js';
import { stackPrograms } from '../support/stack.js';

describe('chaos: webhooks with 20,000 events', () => {
  for (const [name, start, needs] of [
    ['the embedded log', startEmbeddedTarget, []],
    ['Kafka', startStackTarget, stackPrograms],
  ] as const) {
    describe(`on ${name}`, () => {
      const target = fixture(
        () => start(webhookEnvironment),
        ({ stop }) => stop(),
        { needs },
      );

      it('lose nothing, with a receiver dead for 2 minutes and 20 kills', async () => {
        const seed = randomInt(1, 2 ** 30);
        const result = await runWebhookRounds(target, {
          ...{ events: 20_000, kills: 20, deadMs: 120_000, seed },
          onProgress: (line) => process.stdout.write(`${line}\n`),
        });
        process.stdout.write(`${JSON.stringify({ ...result, broken: result.broken.length })}\n`);
        expect(result.broken, `seed ${seed}`).to.deep.equal([]);
      }).timeout(1_800_000);
    });
  }
});
