import { expect } from 'chai';
import fc from 'fast-check';
import { newEvent, readEvent, writeEvent } from '../../schemas/events/codec.js';
import { readSpooledVisit } from '../../schemas/events/spooled-visit.js';
import type { VisitFacts } from '../domain/visit-facts.js';
import { RecordBuffer } from '../spool/record.js';
import { anyVisit } from '../spool/testing/any-visit.js';
import { visit } from '../spool/testing/harness.js';
import { logRecordsIn } from './log-records.js';

const spoolId = '0199d1ab-0000-7000-8000-000000000001';
const source = `/linklog/spool/${spoolId}`;

const chunkOf = (...visits: readonly (readonly [...Parameters<RecordBuffer['add']>])[]): Buffer => {
  const buffer = new RecordBuffer();
  for (const [sequence, one] of visits) buffer.add(sequence, one);
  return Buffer.from(buffer.bytes());
};

describe('redirect edge: log’s records of a spool', () => {
  it('are, to the byte, what the codec writes of the visits’ events', () => {
    fc.assert(
      fc.property(anyVisit, fc.integer({ min: 1, max: 2 ** 48 - 1 }), (one, sequence) => {
        const { records } = logRecordsIn(chunkOf([sequence, one]), spoolId, 1);
        const event = newEvent(
          'LinkVisited',
          { click: null, ...one.facts },
          {
            id: String(sequence),
            source,
            sequence,
            subject: one.code,
            time: new Date(one.at),
            account: one.account,
            correlationId: one.requestId,
          },
        );
        expect(records).to.deep.equal([{ key: one.code, value: writeEvent(event) }]);
      }),
      { numRuns: 500 },
    );
  });

  it('are events: their id is their number in the spool', () => {
    const { records } = logRecordsIn(chunkOf([42, visit(42)]), spoolId, 1);
    const { facts, at } = visit(42);
    expect(records.map(({ value }) => readEvent(value))).to.deep.equal([
      {
        specversion: '1.0',
        id: '42',
        type: 'linklog.LinkVisited.v2',
        source,
        subject: 'code-0',
        time: new Date(at).toISOString(),
        datacontenttype: 'application/json',
        sequence: 42,
        account: 'default',
        correlationid: '42',
        data: { click: null, ...facts },
      },
    ]);
  });

  it('are read by their layout, whatever is known of the visitor', () => {
    const facts: VisitFacts = {
      bot: false,
      country: 'DE',
      referrer: 'news.example.com',
      browser: 'Microsoft Edge',
      os: 'Windows Phone',
      device: 'mobile',
      language: 'de',
      visitor: 'Az09_-Az09_-Az09',
      trigger: 'qr',
      version: 2 ** 32 - 1,
    };
    const known = { ...visit(2), facts };
    const chunk = chunkOf([1, visit(1)], [2, known], [3, { ...known, requestId: undefined }]);
    for (const { value } of logRecordsIn(chunk, spoolId, 3).records) {
      expect(readSpooledVisit(value), value).to.deep.equal(readEvent(value)).and.not.null;
    }
  });

  it('are no more than there is room for, and go on behind them', () => {
    const visits = Array.from({ length: 4_000 }, (_, index) => visit(index + 1));
    const chunk = chunkOf(...visits.map((one, index) => [index + 1, one] as const));
    const ids: number[] = [];
    let calls = 0;
    for (let at = 0; at < chunk.length; calls += 1) {
      const { records, shipped } = logRecordsIn(chunk.subarray(at), spoolId, Infinity);
      ids.push(...records.map(({ value }) => readEvent(value).sequence));
      expect(shipped).to.include({ records: records.length, through: ids.at(-1) });
      at += shipped.bytes;
    }
    expect(ids).to.deep.equal(visits.map((_, index) => index + 1));
    expect(calls).to.be.above(1);
  });

  it('are as many as are wanted, and say where the rest begins', () => {
    const chunk = chunkOf([1, visit(1)], [2, visit(2)], [5, visit(5)]);
    const first = logRecordsIn(chunk, spoolId, 2);
    expect(first.shipped).to.include({ records: 2, through: 2 });
    const rest = logRecordsIn(chunk.subarray(first.shipped.bytes), spoolId, 2);
    expect(rest.shipped).to.include({ records: 1, through: 5 });
    expect(first.shipped.bytes + rest.shipped.bytes).to.equal(chunk.length);
  });
});
