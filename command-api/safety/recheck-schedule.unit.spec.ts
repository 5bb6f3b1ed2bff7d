import { expect } from 'chai';
import { blocklistScan, recheckSchedule } from './recheck.js';

const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;

describe('command API: schedule of re-checks', () => {
  it('checks young links often, and all links every three days', () => {
    const ages = recheckSchedule.filter(({ restarts }) => !restarts).map(({ ageMs }) => ageMs);
    expect(ages).to.deep.equal([minuteMs, 10 * minuteMs, 60 * minuteMs, dayMs]);
    const rounds = recheckSchedule.filter(({ restarts }) => restarts);
    expect(rounds.map(({ restMs }) => restMs)).to.deep.equal([3 * dayMs]);
  });

  it('checks each age with a delay of at most a twelfth', () => {
    for (const { ageMs, restMs, restarts } of recheckSchedule) {
      if (!restarts) expect(restMs).to.equal(ageMs / 12);
    }
  });

  it('makes less than 10,000 calls a day for all links', () => {
    for (const { restarts, paceMs } of recheckSchedule) {
      if (restarts) expect(dayMs / paceMs).to.be.below(10_000);
    }
  });

  it('has a unique name for each scan and each blocklist', () => {
    const names = [...recheckSchedule, blocklistScan('1'), blocklistScan('2')].map(
      ({ name }) => name,
    );
    expect(new Set(names).size).to.equal(names.length);
  });

  it('scans all live links once, without pauses, for a new blocklist', () => {
    const { ageMs, paceMs, restMs, restarts } = blocklistScan('1');
    expect({ ageMs, paceMs, restMs, restarts }).to.deep.equal({
      ageMs: 0,
      paceMs: 0,
      restMs: null,
      restarts: false,
    });
  });
});
