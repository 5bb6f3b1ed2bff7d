import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { startEmbeddedTarget, startStackTarget } from './feed-target.js';
import { compareCounts } from './import-counts.js';
import { runImportRounds } from './import-rounds.js';
import { fixture } from '../support/fixture.js';
import { stackPrograms } from '../support/stack.js';

describe('chaos: imports of many links and visits', () => {
  for (const [name, start, needs, size] of [
    ['the embedded log', startEmbeddedTarget, [], { links: 5_000, visits: 40_000 }],
    // Another process continues the imports of a killed one, so they need more work.
    ['Kafka', startStackTarget, stackPrograms, { links: 30_000, visits: 100_000 }],
  ] as const) {
    describe(`on ${name}`, () => {
      const target = fixture(start, ({ stop }) => stop(), { per: 'test', needs });

      it('create each link and visit once, through 50 kills', async () => {
        const seed = randomInt(1, 2 ** 30);
        const result = await runImportRounds(target, {
          ...{ ...size, kills: 50, seed },
          onProgress: (line) => process.stdout.write(`${line}\n`),
        });
        process.stdout.write(`${JSON.stringify({ ...result, broken: result.broken.length })}\n`);
        expect(result.broken, `seed ${seed}`).to.deep.equal([]);
        for (const phase of ['upload', 'links', 'visits'] as const) {
          expect(result.kills[phase], phase).to.be.above(0);
        }
      }).timeout(3_600_000);

      it('have the counts by day and country of 200,000 log rows', async () => {
        const seed = randomInt(1, 2 ** 30);
        const dump = { links: 2_000, visits: 200_000, days: 100, seed };
        expect(await compareCounts(target, dump), `seed ${seed}`).to.deep.equal([]);
      }).timeout(1_800_000);
    });
  }
});
