import { expect } from 'chai';
import fc from 'fast-check';
import { millisecondsOf } from './timestamp.js';

describe('schemas: the time of an event', () => {
  it('is read as Date.parse reads it, whatever came before', () => {
    const within = { min: new Date('0001-01-01'), max: new Date('9999-12-31T23:59:59.999Z') };
    const time = fc.date({ ...within, noInvalidDate: true });
    const sameDay = fc
      .tuple(time, fc.integer({ min: 0, max: 86_399_999 }))
      .map(([day, ms]) => new Date(Math.floor(day.getTime() / 86_400_000) * 86_400_000 + ms));
    fc.assert(
      fc.property(fc.array(fc.oneof(time, sameDay)), (times) => {
        for (const one of times.flatMap((each) => [each, each])) {
          expect(millisecondsOf(one.toISOString())).to.equal(one.getTime());
        }
      }),
    );
  });
});
