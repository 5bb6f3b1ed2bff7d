import { expect } from 'chai';
import fc from 'fast-check';
import { importIdAt, noon } from '../testing/events.js';
import { importSource, ledgerSource, spoolSource } from './envelope.js';
import { millisecondsOf, recordTimeOf } from './time.js';

describe('schemas: the time of a record', () => {
  const time = '2019-02-03T04:05:06.789Z';

  it('is the time of the event for the ledger and for spools', () => {
    for (const source of [ledgerSource, spoolSource(importIdAt(noon))]) {
      expect(recordTimeOf({ source, time })).to.equal(Date.parse(time));
    }
  });

  it('is the time of the import for its visits', () => {
    const source = importSource(importIdAt(noon));
    expect(recordTimeOf({ source, time })).to.equal(noon.getTime());
  });

  it('is the time of the event for an import whose id has no time', () => {
    for (const id of ['', 'one', '0199d1ab-0000-4000-8000-000000000001']) {
      expect(recordTimeOf({ source: importSource(id), time })).to.equal(Date.parse(time));
    }
  });
});

describe('schemas: the time of an event', () => {
  it('equals the result of Date.parse, in any order', () => {
    const within = { min: new Date('0001-01-01'), max: new Date('9999-12-31T23:59:59.999Z') };
    const time = fc.date({ ...within, noInvalidDate: true });
    const sameDay = fc
      .tuple(time, fc.integer({ min: 0, max: 86_399_999 }))
      .map(([day, ms]) => new Date(Math.floor(day.getTime() / 86_400_000) * 86_400_000 + ms));
    fc.assert(
      fc.property(fc.array(fc.oneof(time, sameDay)), (times) => {
        for (const date of times.flatMap((value) => [value, value])) {
          expect(millisecondsOf(date.toISOString())).to.equal(date.getTime());
        }
      }),
    );
  });
});
