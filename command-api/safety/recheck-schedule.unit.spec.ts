import { expect } from 'chai';
import { blocklistScan, recheckSchedule } from './recheck.js';

const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;

describe('command API: schedule of re-checks', () => {
  const ages = recheckSchedule.filter(({ restarts }) => !restarts);
  const rounds = recheckSchedule.filter(({ restarts }) => restarts);

  it('checks young links often, with a delay of at most a twelfth of their age', () => {
    const expected = [minuteMs, 10 * minuteMs, 60 * minuteMs, dayMs];
    expect(ages.map(({ ageMs }) => ageMs)).to.deep.equal(expected);
    expect(ages.map(({ restMs }) => restMs)).to.deep.equal(expected.map((ms) => ms / 12));
  });

  it('checks all links every three days, with less than 10,000 calls a day', () => {
    expect(rounds.map(({ restMs }) => restMs)).to.deep.equal([3 * dayMs]);
    for (const { paceMs } of rounds) expect(dayMs / paceMs).to.be.below(10_000);
  });

  it('scans all live links once, without pauses, for a new blocklist', () => {
    const values = { ageMs: 0, paceMs: 0, restMs: null, restarts: false };
    expect(blocklistScan('1')).to.deep.include(values);
    const scans = [...recheckSchedule, blocklistScan('1'), blocklistScan('2')];
    expect(new Set(scans.map(({ name }) => name)).size).to.equal(scans.length);
  });
});
