import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { fixture } from '../support/fixture.js';
import { onStack } from '../support/product.js';
import { startEmbeddedTarget, startStackTarget } from './feed-target.js';
import { compareCounts } from './import-counts.js';
import { runImportRounds } from './import-rounds.js';

describe('chaos: imports', () => {
  const target = fixture(
    () => (onStack ? startStackTarget() : startEmbeddedTarget()),
    ({ stop }) => stop(),
    { per: 'test' },
  );

  it('create every link and visit once, by concurrent imports of the same files and kills', async () => {
    const seed = randomInt(1, 2 ** 30);
    const result = await runImportRounds(target, { links: 500, visits: 5_000, kills: 3, seed });
    expect(result.broken, `seed ${seed}`).to.deep.equal([]);
    expect(result.imports).to.be.at.least(6);
  }).timeout(240_000);

  it('have the counts by day and country of the rows of a dump', async () => {
    const seed = randomInt(1, 2 ** 30);
    const dump = { links: 100, visits: 5_000, days: 15, seed };
    expect(await compareCounts(target, dump), `seed ${seed}`).to.deep.equal([]);
  }).timeout(240_000);
});
