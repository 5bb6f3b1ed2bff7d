import type { PlanName, PlanTable } from '../../schemas/plans.js';

/** A request that wants to pass. Only GET /v2/usage is not metered: it counts for the minute only. */
export interface Call {
  readonly metered: boolean;
  /** The log is away, and the request would need it: it is told so, and costs nothing. */
  readonly held?: boolean;
}

/** The key that a call was made with. */
export interface CallingKey {
  readonly id: string;
  readonly name: string;
  readonly plan: PlanName;
  readonly account: string;
}

/** The per-minute window as one call leaves it. */
export interface RateWindow {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: Date;
}

/** What a key has spent in the month, as the ledger had it when the call passed. */
export interface MonthlyUsage {
  readonly calls: number;
  readonly links: number;
  readonly qrCodes: number;
  /** The first day of the next month, YYYY-MM-DD. */
  readonly resetDate: string;
}

/** A key's meter as the ledger found it, before the calls of a group were counted. */
export interface GrantedMeter {
  readonly now: Date;
  readonly key: CallingKey;
  readonly windowResetAt: Date;
  readonly windowCalls: number;
  readonly usage: MonthlyUsage;
  /** How many of the group's calls the ledger let pass and counted, of either kind. */
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

/** What every answer to a known key tells, and what later checks go by. */
export interface AdmittedCall {
  readonly now: Date;
  readonly key: CallingKey;
  readonly window: RateWindow;
  readonly usage: MonthlyUsage;
}

/** Shares what the ledger granted to a key out among the key's calls, in their order. */
export const admitCalls = (
  calls: readonly Call[],
  meter: GrantedMeter,
  { plans }: PlanTable,
  maintenance: boolean,
): readonly AdmissionOutcome[] => {
  const { now, key, usage } = meter;
  const limit = plans[key.plan].requestsPerMinute;
  let windowCalls = meter.windowCalls;
  let monthCalls = usage.calls;
  let metered = meter.grantedMetered;
  let unmetered = meter.grantedUnmetered;
  const full = windowCalls + metered + unmetered >= limit;

  const callNow = (): AdmittedCall => ({
    now,
    key,
    window: {
      limit,
      remaining: Math.max(0, limit - windowCalls),
      resetAt: meter.windowResetAt,
    },
    usage: { ...usage, calls: monthCalls },
  });

  return calls.map((call) => {
    if (maintenance) return { type: 'maintenance', call: callNow() };
    if (call.held === true) return { type: 'logAway', call: callNow() };
    const granted = call.metered ? metered > 0 : unmetered > 0;
    if (!granted) {
      const refused = callNow();
      // The window is full with the whole group: those who come later in it may still be granted.
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
