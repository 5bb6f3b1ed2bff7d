import { expect } from 'chai';
import fc from 'fast-check';
import { defaultPlanTable } from '../../schemas/plans.js';
import { at, noon } from '../../schemas/testing/events.js';
import { admitCalls, type AdmissionOutcome, type Call, type GrantedMeter } from './rate-limits.js';

const key = {
  id: 'key-1',
  rootId: 'key-1',
  name: 'website',
  plan: 'FREE',
  account: 'acme',
  scopes: ['links:create'],
} as const;
const limit = defaultPlanTable.plans.FREE.requestsPerMinute;

const meter = (told: Partial<GrantedMeter> = {}): GrantedMeter => ({
  now: noon,
  plan: key.plan,
  windowResetAt: at(60),
  windowCalls: 0,
  usage: { calls: 100, links: 3, qrCodes: 4, resetDate: '2026-06-01' },
  grantedMetered: 0,
  grantedUnmetered: 0,
  ...told,
});

const metered: Call = { metered: true };
const unmetered: Call = { metered: false };

const admit = (
  calls: readonly Call[],
  given: GrantedMeter,
  maintenance = false,
): readonly AdmissionOutcome[] => {
  const ofKey = calls.map((call) => ({ call, key }));
  return admitCalls(ofKey, given, defaultPlanTable, maintenance);
};

/** What a call's answer tells: how it went, what is left of the minute, and the month's calls. */
const told = (admissions: readonly AdmissionOutcome[]) =>
  admissions.map((admission) => {
    if (admission.type === 'keyInvalid' || !admission.call) return [admission.type];
    const { window, usage } = admission.call;
    return [admission.type, window.remaining, usage.calls];
  });

describe('command API: what the ledger granted', () => {
  it('is handed out in the order of the calls, each with what is left after it', () => {
    const calls = [metered, unmetered, metered];
    const granted = meter({ windowCalls: 10, grantedMetered: 2, grantedUnmetered: 1 });
    expect(told(admit(calls, granted))).to.deep.equal([
      ['admitted', 49, 101],
      ['admitted', 48, 101],
      ['admitted', 47, 102],
    ]);
  });

  it('tells everything that an answer and later checks need', () => {
    expect(admit([metered], meter({ grantedMetered: 1 }))).to.deep.equal([
      {
        type: 'admitted',
        call: {
          now: noon,
          key,
          window: { limit, remaining: limit - 1, resetAt: at(60) },
          usage: { calls: 101, links: 3, qrCodes: 4, resetDate: '2026-06-01' },
        },
      },
    ]);
  });

  it('ends with the minute', () => {
    const full = meter({ windowCalls: 59, grantedMetered: 1 });
    expect(told(admit([metered, metered, unmetered], full))).to.deep.equal([
      ['admitted', 0, 101],
      ['rateLimited', 0, 101],
      ['rateLimited', 0, 101],
    ]);
  });

  it('ends with the month, which calls that are not metered pass all the same', () => {
    const exhausted = meter({ grantedMetered: 1, grantedUnmetered: 1 });
    expect(told(admit([metered, metered, unmetered], exhausted))).to.deep.equal([
      ['admitted', 59, 101],
      ['callsExhausted', 59, 101],
      ['admitted', 58, 101],
    ]);
  });

  it('leaves nothing below zero when a plan was lowered within the minute', () => {
    expect(told(admit([metered], meter({ windowCalls: 250 })))).to.deep.equal([
      ['rateLimited', 0, 100],
    ]);
  });

  it('is nothing during maintenance, whatever there was', () => {
    expect(told(admit([metered, unmetered], meter({ windowCalls: 5 }), true))).to.deep.equal([
      ['maintenance', 55, 100],
      ['maintenance', 55, 100],
    ]);
  });

  it('is handed out exactly, to metered and unmetered calls each', () => {
    const group = fc.array(fc.boolean(), { maxLength: 150 });
    const used = fc.integer({ min: 0, max: limit });
    const month = fc.integer({ min: 0, max: 150 });
    fc.assert(
      fc.property(group, used, month, (kinds, windowCalls, monthRoom) => {
        const calls = kinds.map((isMetered): Call => ({ metered: isMetered }));
        const wanted = calls.filter((call) => call.metered).length;
        const room = limit - windowCalls;
        // As the ledger's statement grants.
        const grantedUnmetered = Math.min(calls.length - wanted, room);
        const grantedMetered = Math.min(wanted, room - grantedUnmetered, monthRoom);
        const admissions = admit(calls, meter({ windowCalls, grantedMetered, grantedUnmetered }));

        const passed = calls.filter((_, index) => admissions[index]?.type === 'admitted');
        expect(passed.filter((call) => call.metered)).to.have.length(grantedMetered);
        expect(passed.filter((call) => !call.metered)).to.have.length(grantedUnmetered);
        const left = told(admissions).flatMap(([type, remaining]) =>
          type === 'admitted' ? [remaining] : [],
        );
        expect(left).to.deep.equal(left.map((_, index) => room - 1 - index));
        // Only a full minute is a reason to say so, and only an empty month the other.
        const full = windowCalls + passed.length >= limit;
        const refusals = admissions.filter(({ type }) => type !== 'admitted');
        for (const { type } of refusals) {
          expect(type).to.equal(full ? 'rateLimited' : 'callsExhausted');
        }
      }),
    );
  });
});
