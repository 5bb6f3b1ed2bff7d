import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { runFeedRounds } from './feed-rounds.js';
import { startEmbeddedTarget, startStackTarget } from './feed-target.js';

describe('chaos: streams of 100,000 events', () => {
  for (const [name, start] of [
    ['the embedded log', startEmbeddedTarget],
    ['Kafka', startStackTarget],
  ] as const) {
    it(`miss and reorder nothing on ${name}, through 1,000 reconnects and 20 kills`, async () => {
      const seed = randomInt(1, 2 ** 30);
      const target = await start();
      try {
        const result = await runFeedRounds(target, {
          ...{ events: 100_000, links: 200, writers: 8, clients: 5, reconnects: 1_000, kills: 20 },
          seed,
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
