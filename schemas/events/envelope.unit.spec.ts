import { expect } from 'chai';
import fc from 'fast-check';
import { millisecondsOf } from './envelope.js';

describe('schemas: time of an event', () => {
  it('is in milliseconds what a date has that is parsed, in whatever order events come', () => {
    const near = fc
      .integer({ min: 0, max: 2_000 })
      .map((ms) => new Date(Date.UTC(2026, 4, 20) + ms));
    const any = fc.date({
      min: new Date('0000-01-01T00:00:00.000Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(fc.array(fc.oneof(near, any)), (dates) => {
        for (const date of dates) expect(millisecondsOf(date.toISOString())).to.equal(+date);
      }),
    );
  });
});
