import { expect } from 'chai';
import fc from 'fast-check';
import { newEvent, readEvent, writeEvent } from '../../schemas/events/codec.js';
import { readSpooledVisit } from '../../schemas/events/spooled-visit.js';
import type { VisitData } from '../../ops/visitors/visit-data.js';
import { RecordBuffer } from '../spool/record.js';
import { anyVisit } from '../spool/testing/any-visit.js';
import { range, visit } from '../spool/testing/harness.js';
import { partitionOf } from '../../ops/event-log/partition.js';
import { topics } from '../../schemas/events/topics.js';
import { lineLimits } from '../../ops/event-log/lines.js';
import { toRecords } from '../../ops/test/support/to-records.js';
import { LineWriter } from './line-writer.js';
import { logRecordsIn } from './log-records.js';

const spoolId = '0199d1ab-0000-7000-8000-000000000001';
const source = `/linklog/spool/${spoolId}`;

const chunkOf = (...visits: readonly (readonly [...Parameters<RecordBuffer['add']>])[]): Buffer => {
  const buffer = new RecordBuffer();
  for (const [sequence, newVisit] of visits) buffer.add(sequence, newVisit);
  return Buffer.from(buffer.bytes());
};

const writer = new LineWriter();
const recordsOf = (chunk: Buffer, max: number) => {
  const { records, shipped } = logRecordsIn(chunk, spoolId, max, writer);
  return { records: toRecords(records), shipped };
};

describe('redirect edge: log records of a spool', () => {
  it('are equal to the output of the codec', () => {
    fc.assert(
      fc.property(anyVisit, fc.integer({ min: 1, max: 2 ** 48 - 1 }), (newVisit, sequence) => {
        const { records } = recordsOf(chunkOf([sequence, newVisit]), 1);
        const { subject, account, at, requestId: correlationId, data } = newVisit;
        // The id is the sequence in the spool.
        const metadata = {
          id: String(sequence),
          source,
          sequence,
          subject,
          account,
          correlationId,
        };
        const visited = { click: null, ...data };
        const event = newEvent('LinkVisited', visited, { ...metadata, time: new Date(at) });
        expect(records).to.deep.equal([{ key: subject, value: writeEvent(event) }]);
      }),
      { numRuns: 150 },
    );
  });

  it('are read by the fast decoder of statistics, with and without data', () => {
    const data: VisitData = {
      ...{ bot: false, country: 'DE', referrer: 'news.example.com', browser: 'Microsoft Edge' },
      ...{ os: 'Windows Phone', device: 'mobile', language: 'de', visitor: 'Az09_-Az09_-Az09' },
      ...{ trigger: 'qr', version: 2 ** 32 - 1, target: 'test/b_2-x' },
    };
    const known = { ...visit(2), data };
    const chunk = chunkOf([1, visit(1)], [2, known], [3, { ...known, requestId: undefined }]);
    for (const { value } of recordsOf(chunk, 3).records) {
      expect(readSpooledVisit(value), value).to.deep.equal(readEvent(value)).and.not.null;
    }
  });

  it('are bounded lines of each partition, in the order of the spool', () => {
    const text = 'x'.repeat(200);
    // Most visits are in one partition: first enough for the limit of records, then for that of bytes.
    const [count, short] = [2_200, 1_150];
    const visits = range(1, count).map((sequence) => {
      const newVisit = { ...visit(sequence), subject: sequence % 10 === 0 ? 'code-1' : 'code-0' };
      if (sequence <= short) return [sequence, newVisit] as const;
      const data = { ...newVisit.data, referrer: text };
      return [sequence, { ...newVisit, requestId: text, data }] as const;
    });
    const chunk = chunkOf(...visits);
    const { records, shipped } = logRecordsIn(chunk, spoolId, Infinity, writer);
    expect(shipped).to.deep.equal({ records: count, bytes: chunk.length, through: count });
    const last = new Map<number, number>();
    const most = { records: 0, bytes: 0 };
    let found = 0;
    for (const batch of records) {
      if (!('lines' in batch)) throw new Error('a plain visit is not a line');
      most.records = Math.max(most.records, batch.records);
      most.bytes = Math.max(most.bytes, batch.lines.length);
      const lines = toRecords([batch]);
      expect(lines).to.have.lengthOf(batch.records);
      for (const { key, value } of lines) {
        expect(partitionOf(key, topics.visits.partitions)).to.equal(batch.partition);
        const { sequence } = readEvent(value);
        expect(sequence).to.be.above(last.get(batch.partition) ?? 0);
        last.set(batch.partition, sequence);
      }
      found += batch.records;
    }
    expect(found).to.equal(count);
    expect(most.records).to.equal(lineLimits.records);
    expect(most.bytes).to.be.within(lineLimits.bytes - 10_000, lineLimits.bytes);
  });

  it('are single records if they cannot be lines, in the order of their partition', () => {
    const odd = { ...visit(2), subject: 'subject-1"' };
    const partition = (subject: string) => partitionOf(subject, topics.visits.partitions);
    const subject = range(0, 99)
      .map((index) => `subject-${index}`)
      .find((candidate) => partition(candidate) === partition(odd.subject));
    const plain = { ...visit(1), subject: subject ?? '' };
    const chunk = chunkOf([1, plain], [2, odd], [3, plain]);
    const { records } = logRecordsIn(chunk, spoolId, 3, writer);
    expect(records.map((record) => 'lines' in record)).to.deep.equal([true, false, true]);
    expect(toRecords(records).map(({ value }) => readEvent(value).sequence)).to.deep.equal([
      1, 2, 3,
    ]);
  });

  it('are at most the requested number, with the offset of the rest', () => {
    const chunk = chunkOf([1, visit(1)], [2, visit(2)], [5, visit(5)]);
    const first = recordsOf(chunk, 2);
    expect(first.shipped).to.include({ records: 2, through: 2 });
    const rest = recordsOf(chunk.subarray(first.shipped.bytes), 2);
    expect(rest.shipped).to.include({ records: 1, through: 5 });
    expect(first.shipped.bytes + rest.shipped.bytes).to.equal(chunk.length);
  });
});
