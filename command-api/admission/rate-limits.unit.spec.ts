import { expect } from 'chai';
import fc from 'fast-check';
import { defaultPlanTable } from '../../schemas/plans.js';
import { at, noon } from '../../schemas/testing/events.js';
import { admitCalls, type Admissions, type Call, type CallWindow } from './rate-limits.js';

const key = {
  id: 'key-1',
  rootId: 'key-1',
  name: 'website',
  plan: 'FREE',
  account: 'acme',
  scopes: ['links:create'],
} as const;
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
    time = { told: noon, now: noon },
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

/** What a call's answer tells: how it went, what is left of the minute, and the month's calls. */
const told = ({ outcomes }: Admissions) =>
  outcomes.map((outcome) => {
    if (outcome.type === 'keyInvalid' || !outcome.call) return [outcome.type];
    const { window, usage: spent } = outcome.call;
    return [outcome.type, window.remaining, spent.calls];
  });

describe('command API: calls of a root', () => {
  it('are admitted one after the other, each told what is left after it', () => {
    const admissions = admit([metered, unmetered, metered], { windowCalls: 10 });
    expect(told(admissions)).to.deep.equal([
      ['admitted', 49, 101],
      ['admitted', 48, 101],
      ['admitted', 47, 102],
    ]);
    expect(admissions.window).to.deep.equal({ startedAt: noon, calls: 13 });
    expect(admissions.metered).to.equal(2);
  });

  it('are told everything that an answer and later checks need', () => {
    expect(admit([metered]).outcomes).to.deep.equal([
      {
        type: 'admitted',
        call: {
          now: noon,
          key,
          window: { limit, remaining: limit - 1, resetAt: at(60) },
          usage: { ...usage, calls: 101 },
        },
      },
    ]);
  });

  it('are refused when the minute is full', () => {
    const admissions = admit([metered, metered, unmetered], { windowCalls: 59 });
    expect(told(admissions)).to.deep.equal([
      ['admitted', 0, 101],
      ['rateLimited', 0, 101],
      ['rateLimited', 0, 101],
    ]);
  });

  it('are refused when the month is spent, but for those that do not count for it', () => {
    const monthCalls = (plan.monthlyCalls ?? 0) - 1;
    const admissions = admit([metered, metered, unmetered], { monthCalls });
    expect(told(admissions)).to.deep.equal([
      ['admitted', 59, 2_000],
      ['callsExhausted', 59, 2_000],
      ['admitted', 58, 2_000],
    ]);
    expect(admissions.metered).to.equal(1);
  });

  it('are told of nothing below zero when a plan was lowered within the minute', () => {
    expect(told(admit([metered], { windowCalls: 250 }))).to.deep.equal([['rateLimited', 0, 100]]);
  });

  it('are refused during maintenance, and while what they need is away', () => {
    const during = admit([metered, unmetered], { windowCalls: 5, maintenance: true });
    expect(told(during)).to.deep.equal([
      ['maintenance', 55, 100],
      ['maintenance', 55, 100],
    ]);
    expect(during.window.calls).to.equal(5);
    expect(told(admit([{ metered: true, held: true }, metered]))).to.deep.equal([
      ['logAway', 60, 100],
      ['admitted', 59, 101],
    ]);
  });

  const ahead = at(3_600);
  const windows: readonly [string, Parameters<typeof admit>[1], CallWindow, Date][] = [
    [
      'come into the window that is open, until its last millisecond',
      { startedAt: new Date(noon.getTime() - 59_999), windowCalls: 7 },
      { startedAt: new Date(noon.getTime() - 59_999), calls: 8 },
      new Date(noon.getTime() + 1),
    ],
    [
      'open a window when the last one is over',
      { startedAt: at(-60), windowCalls: 7 },
      { startedAt: noon, calls: 1 },
      at(60),
    ],
    [
      'come into a window of a clock that was ahead, which begins now',
      { startedAt: ahead, windowCalls: 7 },
      { startedAt: noon, calls: 8 },
      at(60),
    ],
    [
      'open no window by a clock that nobody believes yet',
      { startedAt: at(-50), windowCalls: 7, time: { told: ahead, now: noon } },
      { startedAt: at(-50), calls: 8 },
      at(10),
    ],
    [
      'open the next window by what the clock tells, and are told the time that is believed',
      { startedAt: at(-61), windowCalls: 7, time: { told: ahead, now: noon } },
      { startedAt: ahead, calls: 1 },
      at(60),
    ],
  ];
  for (const [what, given, window, resetAt] of windows) {
    it(what, () => {
      const admissions = admit([metered], given);
      expect(admissions.window).to.deep.equal(window);
      const [outcome] = admissions.outcomes;
      expect(outcome).to.have.nested.property('call.window.resetAt').deep.equal(resetAt);
    });
  }

  it('are as many as there is room for, whatever their kinds and order', () => {
    const kinds = fc.array(fc.boolean(), { maxLength: 150 });
    const used = fc.integer({ min: 0, max: limit });
    const room = fc.integer({ min: 0, max: 150 });
    fc.assert(
      fc.property(kinds, used, room, (asked, windowCalls, monthRoom) => {
        const calls = asked.map((isMetered): Call => ({ metered: isMetered }));
        const monthCalls = (plan.monthlyCalls ?? 0) - monthRoom;
        const admissions = admit(calls, { windowCalls, monthCalls });
        const types = admissions.outcomes.map(({ type }) => type);
        const passed = types.filter((type) => type === 'admitted').length;

        expect(admissions.window.calls).to.equal(windowCalls + passed);
        expect(admissions.window.calls).to.be.at.most(limit);
        expect(admissions.metered).to.be.at.most(monthRoom);
        const isFull = admissions.window.calls === limit;
        const isSpent = admissions.metered === monthRoom;
        for (const [index, type] of types.entries()) {
          if (type === 'rateLimited') expect(isFull).to.equal(true);
          if (type === 'callsExhausted')
            expect([asked[index], isSpent]).to.deep.equal([true, true]);
        }
        const left = told(admissions).flatMap(([type, remaining]) =>
          type === 'admitted' ? [remaining] : [],
        );
        expect(left).to.deep.equal(left.map((_, index) => limit - windowCalls - 1 - index));
      }),
    );
  });
});
