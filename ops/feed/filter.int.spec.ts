import { expect } from 'chai';
import { readEvent, writeEvent } from '../../schemas/events/codec.js';
import { spooledVisit } from '../../schemas/testing/events.js';
import { collectGarbage } from '../test/support/collect-garbage.js';
import { feedEventOf } from './filter.js';

describe('feed: content of an event', () => {
  it('does not keep the row of a visit in memory', () => {
    const rows = 20;
    const rowBytes = 1_000_000;
    const line = writeEvent(spooledVisit('domain.example/abc', { account: 'acme' }));
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    const events = Array.from({ length: rows }, (_, offset) => {
      // The event is read from a part of the text, as in a batch.
      const row = Buffer.from(`${line}\n`.padEnd(rowBytes, 'x')).toString();
      return feedEventOf(readEvent(row.slice(0, line.length)), 9, offset);
    });
    // The last match of a regular expression keeps its text.
    /x/.exec('x');
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).to.be.below(rowBytes);
    expect(events).to.have.length(rows);
  });
});
