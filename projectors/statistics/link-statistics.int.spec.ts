import { expect } from 'chai';
import { collectGarbage } from '../../ops/test/support/collect-garbage.js';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { readEvent, writeEvent } from '../../schemas/events/codec.js';
import { noon, spooledVisit } from '../../schemas/testing/events.js';
import { visitOf } from './link-statistics.js';

const heapBytes = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

describe('projectors: visits as statistics see them', () => {
  it('do not keep the texts of their events in memory', () => {
    const rows = 20;
    const rowCharacters = 500_000;
    const before = heapBytes();
    for (let row = 0; row < rows; row += 1) {
      const account = `the account of row ${row}`;
      const event = spooledVisit('abc', { sequence: row + 1, time: noon, account });
      const data = { ...event.data, referrer: `row-${row}.example.com` };
      const others = String.fromCharCode(65 + (row % 26)).repeat(rowCharacters);
      const [line = ''] = `${writeEvent({ ...event, data })}\n${others}`.split('\n');
      const { values } = visitOf(readEvent(line) as EventNamed<'LinkVisited'>);
      expect(values).to.include(data.referrer);
    }
    // Other code allocates about a megabyte meanwhile.
    expect(heapBytes() - before).to.be.below((rows * rowCharacters) / 4);
  });
});
