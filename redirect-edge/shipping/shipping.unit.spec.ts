import { expect } from 'chai';
import { lineLimits } from '../../ops/event-log/lines.js';
import { toRecords } from '../../ops/test/support/to-records.js';
import { RecordBuffer } from '../spool/record.js';
import { range } from '../spool/testing/harness.js';
import { portionOf } from './shipping.js';

const partitions = 3;

/** The n-th event, and its partition. */
const eventOf = (number: number, padding = '') =>
  `{"subject":"code-${number % partitions}","id":"${number}","padding":"${padding}"}`;

/** A chunk with a record for each event. */
const chunkOf = (...events: readonly (readonly [partition: number, event: string])[]): Buffer => {
  const buffer = new RecordBuffer();
  for (const record of events) {
    buffer.add(...record);
    buffer.bytes();
  }
  return Buffer.from(buffer.bytes());
};

describe('redirect edge: portion of a spool', () => {
  it('has bounded batches of each partition, in the order of the spool', () => {
    // Most visits are in one partition: first enough for the limit of records, then for that of bytes.
    const [count, short] = [2_200, 1_150];
    const events = range(1, count).map((number) => {
      const partition = number % 10 === 0 ? 1 : 0;
      return [partition, eventOf(number, 'x'.repeat(number <= short ? 0 : 700))] as const;
    });
    const chunk = chunkOf(...events);
    const { batches, shipped } = portionOf(chunk, Infinity);
    expect(shipped).to.deep.equal({ visits: count, bytes: chunk.length });
    for (const partition of [0, 1]) {
      const found = batches.filter((batch) => batch.partition === partition);
      const values = toRecords(found).map(({ value }) => value);
      const expected = events.filter(([wanted]) => wanted === partition).map(([, event]) => event);
      expect(values).to.deep.equal(expected);
    }
    for (const batch of batches) expect(toRecords([batch])).to.have.lengthOf(batch.records);
    expect(Math.max(...batches.map(({ records }) => records))).to.equal(lineLimits.records);
    const most = Math.max(...batches.map(({ lines }) => lines.length));
    expect(most).to.be.within(lineLimits.bytes - 1_000, lineLimits.bytes);
  });

  it('has at most the requested number of visits, with the offset of the rest', () => {
    const chunk = chunkOf([0, eventOf(1)], [1, eventOf(2)], [0, eventOf(5)]);
    const first = portionOf(chunk, 2);
    expect(first.shipped.visits).to.equal(2);
    const rest = portionOf(chunk.subarray(first.shipped.bytes), 2);
    expect(rest.shipped.visits).to.equal(1);
    expect(first.shipped.bytes + rest.shipped.bytes).to.equal(chunk.length);
    expect(toRecords(rest.batches)).to.deep.equal([{ key: 'code-2', value: eventOf(5) }]);
  });

  it('is empty if the first record is damaged', () => {
    const shipped = { visits: 0, bytes: 0 };
    expect(portionOf(Buffer.alloc(1_000), 2)).to.deep.equal({ batches: [], shipped });
  });
});
