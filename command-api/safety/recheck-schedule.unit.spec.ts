import { expect } from 'chai';
import { blocklistScan, recheckSchedule } from './recheck.js';

const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;

describe('command API: schedule of looks at links that were made', () => {
  it('is young links soon and often, and every link every three days', () => {
    const ages = recheckSchedule.filter(({ restarts }) => !restarts).map(({ ageMs }) => ageMs);
    expect(ages).to.deep.equal([minuteMs, 10 * minuteMs, 60 * minuteMs, dayMs]);
    const rounds = recheckSchedule.filter(({ restarts }) => restarts);
    expect(rounds.map(({ restMs }) => restMs)).to.deep.equal([3 * dayMs]);
  });

  it('looks at the youngest within 5 s of their age, and rests longer the older they are', () => {
    for (const { ageMs, restMs, restarts } of recheckSchedule) {
      if (!restarts) expect(restMs).to.equal(ageMs / 12);
    }
  });

  it('asks less than 10,000 times a day for all links, however many there are', () => {
    for (const { restarts, paceMs } of recheckSchedule) {
      if (restarts) expect(dayMs / paceMs).to.be.below(10_000);
    }
  });

  it('has a name of its own for every scan, and for every blocklist', () => {
    const names = [...recheckSchedule, blocklistScan('1'), blocklistScan('2')].map(
      ({ name }) => name,
    );
    expect(new Set(names).size).to.equal(names.length);
  });

  it('looks at all live links once, and at once, for a new blocklist', () => {
    const { ageMs, paceMs, restMs, restarts } = blocklistScan('1');
    expect({ ageMs, paceMs, restMs, restarts }).to.deep.equal({
      ageMs: 0,
      paceMs: 0,
      restMs: null,
      restarts: false,
    });
  });
});
