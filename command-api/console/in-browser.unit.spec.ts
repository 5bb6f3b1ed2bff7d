import { expect } from 'chai';
import fc from 'fast-check';
import { readOffset as readOfServer } from '../../schemas/zone-offset.js';
import { readOffset } from './in-browser.js';

describe('the UTC offset of a time zone in a browser', () => {
  it('is that of the server', () => {
    const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'America/St_Johns');
    const times = fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2037, 0) });
    fc.assert(
      fc.property(zones, times, (tz, now) => {
        const offset = readOffset(tz, now);
        expect(offset.ms).to.equal(readOfServer(tz, now).ms);
        expect(now).to.be.within(offset.from, offset.until - 1);
      }),
      { numRuns: 30 },
    );
  });
});
