import type { PlanName, PlanTable } from '../../schemas/plans.js';
import type { Scope } from '../../schemas/scopes.js';

/** A request to admit. One that is not metered counts for the minute limit only. */
export interface Call {
  readonly metered: boolean;
  /** The request needs the log, which is away: it is refused and costs nothing. */
  readonly held?: boolean;
}

/** The key that a call was made with. */
export interface CallingKey {
  readonly id: string;
  /** The key whose limits it shares: itself, or that at the start of its chain. */
  readonly rootId: string;
  readonly name: string;
  /** Of the root. */
  readonly plan: PlanName;
  readonly account: string;
  readonly scopes: readonly Scope[];
}

/** The per-minute window as one call leaves it. */
export interface RateWindow {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: Date;
}

/** What a root had spent in the month when the call was admitted. */
export interface MonthlyUsage {
  readonly calls: number;
  readonly links: number;
  readonly qrCodes: number;
  /** The first day of the next month, YYYY-MM-DD. */
  readonly resetDate: string;
}

/** A call of a known key. */
export interface CallOfKey {
  readonly call: Call;
  readonly key: CallingKey;
}

/** A root's meter as the ledger found it, before the calls of a group were counted. */
export interface GrantedMeter {
  readonly now: Date;
  readonly plan: PlanName;
  readonly windowResetAt: Date;
  readonly windowCalls: number;
  readonly usage: MonthlyUsage;
  /** The group's calls that the ledger admitted and counted, by kind. */
  readonly grantedMetered: number;
  readonly grantedUnmetered: number;
}

export type AdmissionOutcome =
  | { readonly type: 'keyInvalid' }
  | { readonly type: 'maintenance'; readonly call: AdmittedCall | null }
  | { readonly type: 'logAway'; readonly call: AdmittedCall }
  | { readonly type: 'rateLimited'; readonly call: AdmittedCall }
  | { readonly type: 'callsExhausted'; readonly call: AdmittedCall }
  | { readonly type: 'admitted'; readonly call: AdmittedCall };

/** The facts behind the rate-limit headers and the later checks. */
export interface AdmittedCall {
  readonly now: Date;
  readonly key: CallingKey;
  readonly window: RateWindow;
  readonly usage: MonthlyUsage;
}

/** Gives each of a root's calls its outcome: what the ledger granted goes to the first calls. */
export const admitCalls = (
  calls: readonly CallOfKey[],
  meter: GrantedMeter,
  { plans }: PlanTable,
  maintenance: boolean,
): readonly AdmissionOutcome[] => {
  const { now, plan, usage } = meter;
  const limit = plans[plan].requestsPerMinute;
  let windowCalls = meter.windowCalls;
  let monthCalls = usage.calls;
  let metered = meter.grantedMetered;
  let unmetered = meter.grantedUnmetered;
  const full = windowCalls + metered + unmetered >= limit;

  const stateNow = (): Omit<AdmittedCall, 'key'> => ({
    now,
    window: {
      limit,
      remaining: Math.max(0, limit - windowCalls),
      resetAt: meter.windowResetAt,
    },
    usage: { ...usage, calls: monthCalls },
  });

  return calls.map(({ call, key }) => {
    const callNow = (): AdmittedCall => ({ key, ...stateNow() });
    if (maintenance) return { type: 'maintenance', call: callNow() };
    if (call.held === true) return { type: 'logAway', call: callNow() };
    const granted = call.metered ? metered > 0 : unmetered > 0;
    if (!granted) {
      const refused = callNow();
      // The window is full only with the whole group: a later call may still be granted.
      return full
        ? { type: 'rateLimited', call: { ...refused, window: { ...refused.window, remaining: 0 } } }
        : { type: 'callsExhausted', call: refused };
    }
    windowCalls += 1;
    if (call.metered) {
      metered -= 1;
      monthCalls += 1;
    } else unmetered -= 1;
    return { type: 'admitted', call: callNow() };
  });
};
