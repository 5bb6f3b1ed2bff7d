import { expect } from 'chai';
import type { Queryable } from '../../ops/platform/postgres/pool.js';
import { Freshness, maxChanges, type Copy } from './freshness.js';
import { DatabaseClock } from './shared-cache.js';

const second = 1_000;
/** PostgreSQL's clock minus the clock of this process (ms). */
const offset = 1_700_000_000_000;

describe('redirect edge: freshness of a copy', () => {
  let now: number;
  let freshness: Freshness;

  beforeEach(() => {
    now = 5_000_000;
    freshness = new Freshness(() => now);
    freshness.gap(true);
    now += 60 * second;
  });

  const copy = (fields: Partial<Copy> = {}): Copy => ({
    subject: 'spring',
    sequence: 2,
    readAt: now + offset,
    ...fields,
  });
  const accepts = (fields: Partial<Copy> = {}): boolean =>
    freshness.accepts(copy(fields), now + offset);

  it('lasts a minute by PostgreSQL’s clock, and rejects copies from the future', () => {
    expect(accepts({ readAt: now + offset + 1 })).to.be.false;
    const readAt = now + offset;
    expect(accepts({ readAt })).to.be.true;
    now += 60 * second;
    expect(accepts({ readAt })).to.be.true;
    now += 1;
    expect(accepts({ readAt })).to.be.false;
  });

  it('requires exactly the sequence of the last change, in any order of notifications', () => {
    const accepted = () =>
      [2, 3, 4, 5, Number.MAX_SAFE_INTEGER].filter((sequence) => accepts({ sequence }));
    freshness.changed('spring', 3);
    freshness.changed('other', 9);
    expect(accepted()).to.deep.equal([3]);
    freshness.changed('spring', 4);
    freshness.changed('spring', 3);
    expect(accepted()).to.deep.equal([4]);
  });

  it('of a link that is being read: a read that began after the change has it, whatever its sequence', () => {
    const before = freshness.reading();
    freshness.changed('spring', 3);
    now += 1;
    const after = freshness.reading();
    expect(before(copy())).to.be.false;
    expect(before(copy({ sequence: 3 }))).to.be.true;
    expect(before(copy({ subject: 'other' }))).to.be.true;
    expect(after(copy())).to.be.true;
    now += 120 * second;
    expect(after(copy())).to.be.true;
    now += 1;
    expect(after(copy())).to.be.false;
  });

  it('rejects all copies for a minute after too many changes', () => {
    const isCurrent = freshness.reading();
    now += 1;
    for (let number = 0; number <= maxChanges; number += 1)
      freshness.changed(`subject-${number}`, 1);
    expect(accepts()).to.be.false;
    expect(isCurrent(copy({ sequence: 9 })), 'a link that was read before').to.be.false;
    now += 60 * second;
    expect(accepts()).to.be.true;
  });

  it('keeps changes longer than the lifetime of copies', () => {
    freshness.changed('spring', 3);
    now += 120 * second;
    freshness.changed('other', 2);
    expect(accepts()).to.be.false;
    now += 1;
    freshness.changed('third', 2);
    expect(accepts()).to.be.true;
    expect(freshness.isCurrent({ subject: 'other', sequence: 1 })).to.be.false;
  });

  it('keeps a change from its last notification on', () => {
    freshness.changed('spring', 3);
    now += 100 * second;
    freshness.changed('spring', 4);
    now += 100 * second;
    freshness.changed('other', 2);
    expect(accepts({ sequence: 3 })).to.be.false;
  });

  it('requires a minute of listening, after a start and after a gap', () => {
    const started = new Freshness(() => now);
    expect(started.isComplete).to.be.false;
    now += 600 * second;
    expect(started.isComplete).to.be.false;

    freshness.gap(false);
    now += 600 * second;
    expect(accepts()).to.be.false;
    freshness.gap(true);
    now += 60 * second - 1;
    expect([freshness.isComplete, accepts()]).to.deep.equal([false, false]);
    now += 1;
    expect([freshness.isComplete, accepts()]).to.deep.equal([true, true]);
  });

  it('of links in memory does not depend on gaps', () => {
    freshness.gap(false);
    freshness.changed('spring', 3);
    expect(freshness.isCurrent(copy())).to.be.false;
    expect(freshness.isCurrent(copy({ sequence: 3 }))).to.be.true;
  });
});

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
