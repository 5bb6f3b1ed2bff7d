import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { startEmbeddedTarget, startStackTarget } from './feed-target.js';
import { runWebhookRounds, webhookEnvironment } from './webhook-rounds.js';

describe('chaos: webhooks with 20,000 events', () => {
  for (const [name, start] of [
    ['the embedded log', startEmbeddedTarget],
    ['Kafka', startStackTarget],
  ] as const) {
    it(`lose nothing on ${name}, with a receiver dead for 2 minutes and 20 kills`, async () => {
      const seed = randomInt(1, 2 ** 30);
      const target = await start(webhookEnvironment);
      try {
        const result = await runWebhookRounds(target, {
          ...{ events: 20_000, kills: 20, deadMs: 120_000, seed },
          onProgress: (line) => process.stdout.write(`${line}\n`),
        });
        process.stdout.write(`${JSON.stringify({ ...result, broken: result.broken.length })}\n`);
        expect(result.broken, `seed ${seed}`).to.deep.equal([]);
      } finally {
        await target.stop();
      }
    }).timeout(1_800_000);
  }
});
