import { expect } from 'chai';
import type { Queryable } from '../../ops/platform/postgres/pool.js';
import { DatabaseClock } from './shared-cache.js';

describe('redirect edge: PostgreSQL’s clock', () => {
  it('is estimated between two bounds, whose distance is the duration of the query', async () => {
    let now = 500;
    const slow = {
      query() {
        now += 30;
        return Promise.resolve({ rows: [{ now: new Date(1_000_000) }] });
      },
    } as unknown as Queryable;
    const clock = new DatabaseClock(slow, () => now);
    expect(clock.now()).to.equal(null);
    await clock.sync();
    expect(clock.now()).to.deep.equal({ earliest: 1_000_000, latest: 1_000_031 });
    now += 1_000;
    expect(clock.now()).to.deep.equal({ earliest: 1_001_000, latest: 1_001_031 });
  });
});
