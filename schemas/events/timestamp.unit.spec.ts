import { expect } from 'chai';
import fc from 'fast-check';
import { millisecondsOf } from './timestamp.js';

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
