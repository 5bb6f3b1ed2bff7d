import { expect } from 'chai';
import { Freshness, type Copy } from './freshness.js';

const second = 1_000;
/** What PostgreSQL's clock is ahead of this process's. */
const ahead = 1_700_000_000_000;

describe('what makes a copy of a link fresh', () => {
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

  it('is its age, by PostgreSQL’s clock: a minute, whatever the store says', () => {
    const readAt = now + ahead;
    expect(accepts({ readAt })).to.be.true;
    now += 60 * second;
    expect(accepts({ readAt })).to.be.true;
    now += 1;
    expect(accepts({ readAt })).to.be.false;
  });

  it('is not a time to come: that was no clock of ours', () => {
    expect(accepts({ readAt: now + ahead + 1 })).to.be.false;
  });

  it('is every change of it that was heard of', () => {
    freshness.heard('spring', 3);
    freshness.heard('other', 9);
    expect(accepts()).to.be.false;
    expect(accepts({ sequence: 3 })).to.be.true;
    expect(accepts({ sequence: 4 })).to.be.true;
  });

  it('is the last of changes that are heard of in another order', () => {
    freshness.heard('spring', 4);
    freshness.heard('spring', 3);
    expect(accepts({ sequence: 3 })).to.be.false;
    expect(accepts({ sequence: 4 })).to.be.true;
  });

  it('remembers changes for longer than a copy may be old, and no longer', () => {
    freshness.heard('spring', 3);
    now += 120 * second;
    freshness.heard('other', 2);
    expect(accepts()).to.be.false;
    now += 1;
    freshness.heard('third', 2);
    expect(accepts()).to.be.true;
    expect(freshness.isCurrent({ code: 'other', sequence: 1 })).to.be.false;
  });

  it('remembers a change from when it was heard of last', () => {
    freshness.heard('spring', 3);
    now += 100 * second;
    freshness.heard('spring', 4);
    now += 100 * second;
    freshness.heard('other', 2);
    expect(accepts({ sequence: 3 })).to.be.false;
  });

  it('is nothing before a minute of listening, at a start as after a gap', () => {
    const begun = new Freshness(() => now);
    expect(begun.settled).to.be.false;
    now += 600 * second;
    expect(begun.settled).to.be.false;

    freshness.gap(false);
    now += 600 * second;
    expect(accepts()).to.be.false;
    freshness.gap(true);
    now += 60 * second - 1;
    expect([freshness.settled, accepts()]).to.deep.equal([false, false]);
    now += 1;
    expect([freshness.settled, accepts()]).to.deep.equal([true, true]);
  });

  it('holds for memory at once, gap or not: that is doubted by other means', () => {
    freshness.gap(false);
    freshness.heard('spring', 3);
    expect(freshness.isCurrent(copy())).to.be.false;
    expect(freshness.isCurrent(copy({ sequence: 3 }))).to.be.true;
  });
});
