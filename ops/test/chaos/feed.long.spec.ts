import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { runFeedRounds } from './feed-rounds.js';
import { startEmbeddedTarget, startStackTarget } from './feed-target.js';
import { fixture } from '../support/fixture.js';
import { stackPrograms } from '../support/stack.js';

describe('chaos: streams of 100,000 events', () => {
  for (const [name, start, needs] of [
    ['the embedded log', startEmbeddedTarget, []],
    ['Kafka', startStackTarget, stackPrograms],
  ] as const) {
    describe(`on ${name}`, () => {
      const target = fixture(start, ({ stop }) => stop(), { needs });

      it('miss and reorder nothing, through 1,000 reconnects and 20 kills', async () => {
        const seed = randomInt(1, 2 ** 30);
        const result = await runFeedRounds(target, {
          ...{ events: 100_000, links: 200, writers: 8, clients: 5, reconnects: 1_000, kills: 20 },
          seed,
          onProgress: (line) => process.stdout.write(`${line}\n`),
        });
        process.stdout.write(`${JSON.stringify({ ...result, broken: result.broken.length })}\n`);
        expect(result.broken, `seed ${seed}`).to.deep.equal([]);
      }).timeout(1_800_000);
    });
  }
});
