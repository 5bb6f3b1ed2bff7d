import { expect } from 'chai';
import { Freshness, maxChanges, type Copy } from './freshness.js';

const second = 1_000;
/** What PostgreSQL's clock is ahead of this process's. */
const ahead = 1_700_000_000_000;

describe('redirect edge: freshness of a copy', () => {
  let now: number;
  let freshness: Freshness;

  beforeEach(() => {
    now = 5_000_000;
    freshness = new Freshness(() => now);
    freshness.gap(true);
    now += 60 * second;
  });

  const copy = (told: Partial<Copy> = {}): Copy => ({
    code: 'spring',
    sequence: 2,
    readAt: now + ahead,
    ...told,
  });
  const accepts = (told: Partial<Copy> = {}): boolean => freshness.accepts(copy(told), now + ahead);

  it('lasts a minute by PostgreSQL’s clock, whatever the store says', () => {
    const readAt = now + ahead;
    expect(accepts({ readAt })).to.be.true;
    now += 60 * second;
    expect(accepts({ readAt })).to.be.true;
    now += 1;
    expect(accepts({ readAt })).to.be.false;
  });

  it('rules out copies from the future, which no clock of ours gave', () => {
    expect(accepts({ readAt: now + ahead + 1 })).to.be.false;
  });

  it('has the last change that was heard of: one that is ahead is left to PostgreSQL', () => {
    freshness.changed('spring', 3);
    freshness.changed('other', 9);
    expect(accepts()).to.be.false;
    expect(accepts({ sequence: 3 })).to.be.true;
    expect(accepts({ sequence: 4 })).to.be.false;
    expect(accepts({ sequence: Number.MAX_SAFE_INTEGER })).to.be.false;
  });

  it('needs the last change, in whatever order changes are heard of', () => {
    freshness.changed('spring', 4);
    freshness.changed('spring', 3);
    expect(accepts({ sequence: 3 })).to.be.false;
    expect(accepts({ sequence: 4 })).to.be.true;
  });

  it('refuses all copies for a minute after more changes than it remembers', () => {
    const isCurrent = freshness.reading();
    now += 1;
    for (let number = 0; number <= maxChanges; number += 1) freshness.changed(`code-${number}`, 1);
    expect(accepts()).to.be.false;
    expect(isCurrent(copy({ sequence: 9 })), 'a link that was read before').to.be.false;
    now += 60 * second;
    expect(accepts()).to.be.true;
  });

  it('remembers changes for just longer than a copy may be old', () => {
    freshness.changed('spring', 3);
    now += 120 * second;
    freshness.changed('other', 2);
    expect(accepts()).to.be.false;
    now += 1;
    freshness.changed('third', 2);
    expect(accepts()).to.be.true;
    expect(freshness.isCurrent({ code: 'other', sequence: 1 })).to.be.false;
  });

  it('remembers a change from the last time that it was heard of', () => {
    freshness.changed('spring', 3);
    now += 100 * second;
    freshness.changed('spring', 4);
    now += 100 * second;
    freshness.changed('other', 2);
    expect(accepts({ sequence: 3 })).to.be.false;
  });

  it('needs a minute of listening, after a start and after a gap', () => {
    const begun = new Freshness(() => now);
    expect(begun.isComplete).to.be.false;
    now += 600 * second;
    expect(begun.isComplete).to.be.false;

    freshness.gap(false);
    now += 600 * second;
    expect(accepts()).to.be.false;
    freshness.gap(true);
    now += 60 * second - 1;
    expect([freshness.isComplete, accepts()]).to.deep.equal([false, false]);
    now += 1;
    expect([freshness.isComplete, accepts()]).to.deep.equal([true, true]);
  });

  it('does not concern links in memory, which have their own doubt after a gap', () => {
    freshness.gap(false);
    freshness.changed('spring', 3);
    expect(freshness.isCurrent(copy())).to.be.false;
    expect(freshness.isCurrent(copy({ sequence: 3 }))).to.be.true;
  });
});
