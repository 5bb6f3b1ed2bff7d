import { expect } from 'chai';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { databaseFixture } from '../../ops/test/support/fixtures.js';
import { createFindForbidden } from './forbidden-aliases.js';

describe('command API: forbidden aliases', () => {
  const database = databaseFixture('forbidden');

  it('are found in several iterations of the event loop', async () => {
    const codes = Array.from({ length: 500 }, (_, index) => `${'loginsecure'.repeat(17)}${index}`);
    let [iterations, isFound] = [0, false];
    const count = async (): Promise<void> => {
      while (!isFound) {
        await nextIteration();
        iterations += 1;
      }
    };
    const findForbidden = createFindForbidden(database.pool);
    const counted = count();
    const found = await findForbidden([...codes, 'login'], 'acme');
    isFound = true;
    await counted;
    expect([...found]).to.include('login');
    // The query is one or two of them.
    expect(iterations).to.be.above(8);
  });
});
