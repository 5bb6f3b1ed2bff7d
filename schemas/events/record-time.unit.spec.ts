import { expect } from 'chai';
import { importIdAt, noon } from '../testing/events.js';
import { importSource, ledgerSource, spoolSource } from './envelope.js';
import { recordTimeOf } from './record-time.js';

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
