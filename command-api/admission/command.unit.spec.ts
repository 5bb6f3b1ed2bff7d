import { expect } from 'chai';
import { defaultPlanTable } from '../../schemas/plans.js';
import { at, noon } from '../../schemas/testing/events.js';
import { admitCalls, type Admissions, type Call, type CallingKey } from './command.js';

const key: CallingKey = {
  ...{ id: 'key-1', rootId: 'key-1', name: 'website', plan: 'FREE', account: 'acme' },
  scopes: ['links:create'],
};
const plan = defaultPlanTable.plans.FREE;
const limit = plan.requestsPerMinute;
const usage = { calls: 100, links: 3, qrCodes: 4, resetDate: '2026-06-01' };
const metered: Call = { metered: true };
const unmetered: Call = { metered: false };

const admit = (
  calls: readonly Call[],
  {
    startedAt = noon,
    windowCalls = 0,
    monthCalls = usage.calls,
    time = { databaseTime: noon, now: noon },
    maintenance = false,
  } = {},
): Admissions =>
  admitCalls(
    calls.map((call) => ({ call, key })),
    {
      window: { startedAt, calls: windowCalls },
      usage: { ...usage, calls: monthCalls },
    },
    plan,
    time,
    maintenance,
  );

/** Outcome, remaining calls of the minute, and calls of the month. */
const resultsOf = ({ outcomes }: Admissions) =>
  outcomes.map((outcome) => {
    if (outcome.type === 'keyInvalid' || !outcome.call) return [outcome.type];
    const { window, usage: spent } = outcome.call;
    return [outcome.type, window.remaining, spent.calls];
  });

describe('command API: admission of calls', () => {
  it('counts the calls of a group one after the other', () => {
    const admissions = admit([metered, unmetered, metered], { windowCalls: 10 });
    expect(resultsOf(admissions)).to.deep.equal([
      ['admitted', 49, 101],
      ['admitted', 48, 101],
      ['admitted', 47, 102],
    ]);
    expect(admissions.window).to.deep.equal({ startedAt: noon, calls: 13 });
    expect(admissions.metered).to.equal(2);
  });

  it('returns the key, the window and the usage of the month', () => {
    const window = { limit, remaining: limit - 1, resetAt: at(60) };
    const call = { now: noon, key, window, usage: { ...usage, calls: 101 } };
    expect(admit([metered]).outcomes).to.deep.equal([{ type: 'admitted', call }]);
  });

  it('refuses calls when the minute is full', () => {
    const admissions = admit([metered, metered, unmetered], { windowCalls: 59 });
    expect(resultsOf(admissions)).to.deep.equal([
      ['admitted', 0, 101],
      ['rateLimited', 0, 101],
      ['rateLimited', 0, 101],
    ]);
  });

  it('refuses metered calls when the month is exhausted', () => {
    const monthCalls = (plan.monthlyCalls ?? 0) - 1;
    const admissions = admit([metered, metered, unmetered], { monthCalls });
    expect(resultsOf(admissions)).to.deep.equal([
      ['admitted', 59, 2_000],
      ['callsExhausted', 59, 2_000],
      ['admitted', 58, 2_000],
    ]);
    expect(admissions.metered).to.equal(1);
  });

  it('reports 0 remaining calls after a plan was lowered within the minute', () => {
    const results = resultsOf(admit([metered], { windowCalls: 250 }));
    expect(results).to.deep.equal([['rateLimited', 0, 100]]);
  });

  it('refuses calls during maintenance, and calls that need an unavailable log', () => {
    const during = admit([metered, unmetered], { windowCalls: 5, maintenance: true });
    expect(resultsOf(during)[1]).to.deep.equal(['maintenance', 55, 100]);
    expect(during.window.calls).to.equal(5);
    expect(resultsOf(admit([{ metered: true, logUnavailable: true }, metered]))).to.deep.equal([
      ['logUnavailable', 60, 100],
      ['admitted', 59, 101],
    ]);
  });

  const ahead = { time: { databaseTime: at(3_600), now: noon } };
  for (const [title, given, startedAt, calls, resetAt] of [
    ['counts a call in the last millisecond of a window in it', [-59.999], -59.999, 8, 0.001],
    ['starts a window when the last one has ended', [-60], 0, 1, 60],
    ['restarts a window that starts in the future, with its calls', [3_600], 0, 8, 60],
    ['starts no window because of a clock that has just jumped forward', [-50, ahead], -50, 8, 10],
    [
      'starts the next window at the database time, and reports its end from the clamped time',
      ...([[-61, ahead], 3_600, 1, 60] as const),
    ],
  ] as const) {
    it(title, () => {
      const [seconds, options = {}] = given;
      const admissions = admit([metered], { startedAt: at(seconds), windowCalls: 7, ...options });
      expect(admissions.window).to.deep.equal({ startedAt: at(startedAt), calls });
      const [outcome] = admissions.outcomes;
      expect(outcome).to.have.nested.property('call.window.resetAt').deep.equal(at(resetAt));
    });
  }
});
