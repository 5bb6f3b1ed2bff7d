import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { fixture } from '../support/fixture.js';
import { startEmbeddedTarget } from './feed-target.js';
import { runImportRounds } from './import-rounds.js';

describe('chaos: imports', () => {
  const target = fixture(
    () => startEmbeddedTarget(),
    ({ stop }) => stop(),
  );

  it('create every link and visit once, by concurrent imports of the same files and kills', async () => {
    const seed = randomInt(1, 2 ** 30);
    const result = await runImportRounds(target, { links: 500, visits: 5_000, kills: 3, seed });
    expect(result.broken, `seed ${seed}`).to.deep.equal([]);
    expect(result.imports).to.be.at.least(6);
  }).timeout(240_000);
});
