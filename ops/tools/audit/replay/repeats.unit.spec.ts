import { expect } from 'chai';
import { spoolSource } from '../../../../schemas/events/envelope.js';
import { blocked, created, visited } from '../../../../schemas/testing/events.js';
import { repeatsOfPartition } from './repeats.js';

const seen = (spool: string, sequence: number) =>
  visited('spring', null, { sequence, source: spoolSource(spool) });

describe('audit: repeats in a partition', () => {
  it('are what is not above the mark of its subject, or of its spool', () => {
    const isRepeat = repeatsOfPartition();
    const events = [
      created('spring'),
      blocked('spring', 2),
      created('autumn'),
      created('spring'),
      blocked('spring', 2),
      blocked('spring', 3),
      seen('one', 7),
      seen('two', 7),
      seen('one', 7),
      seen('one', 8),
    ];
    expect(events.filter(isRepeat)).to.deep.equal([events[3], events[4], events[8]]);
  });

  it('are known of the subjects seen last, and of every spool', () => {
    const isRepeat = repeatsOfPartition(10);
    const many = Array.from({ length: 21 }, (_, index) => created(`code-${index}`));
    expect([seen('one', 1), ...many].filter(isRepeat)).to.be.empty;
    expect([seen('one', 1), ...many.slice(-10)].every(isRepeat)).to.be.true;
    // Told twice, then, rather than left out.
    expect(many.slice(0, 1).filter(isRepeat)).to.be.empty;
  });
});
