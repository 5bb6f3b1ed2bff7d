import { expect } from 'chai';
import { spoolSource } from '../../../../schemas/events/envelope.js';
import { blocked, created, visited } from '../../../../schemas/testing/events.js';
import { repeatsOfPartition } from './repeats.js';

const seen = (spool: string, sequence: number) =>
  visited('spring', null, { sequence, source: spoolSource(spool) });

describe('audit: repeats in a partition', () => {
  it('are records at or below the high-water mark of their subject or spool', () => {
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

  it('are detected for the most recent subjects and all spools', () => {
    const isRepeat = repeatsOfPartition(10);
    const many = Array.from({ length: 21 }, (_, index) => created(`code-${index}`));
    expect([seen('one', 1), ...many].filter(isRepeat)).to.be.empty;
    expect([seen('one', 1), ...many.slice(-10)].every(isRepeat)).to.be.true;
    // The repeat of an older subject is not detected.
    expect(many.slice(0, 1).filter(isRepeat)).to.be.empty;
  });
});
