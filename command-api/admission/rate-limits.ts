import type { Plan, PlanName } from '../../schemas/plans.js';
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

/** A window of the per-minute limit, with the calls that came into it. */
export interface CallWindow {
  readonly startedAt: Date;
  readonly calls: number;
}

export type AdmissionOutcome =
  | { readonly type: 'keyInvalid' }
  | { readonly type: 'maintenance'; readonly call: AdmittedCall | null }
  | {
      readonly type: 'logAway' | 'rateLimited' | 'callsExhausted' | 'admitted';
      readonly call: AdmittedCall;
    };

/** The facts behind the rate-limit headers and the later checks. */
export interface AdmittedCall {
  readonly now: Date;
  readonly key: CallingKey;
  readonly window: RateWindow;
  readonly usage: MonthlyUsage;
}

const windowMs = 60_000;

/** PostgreSQL's clock under the locks: what it told, and the part of that which is believed. */
export interface LockTime {
  readonly told: Date;
  readonly now: Date;
}

/**
 * The window that calls come into. One that began later than PostgreSQL's clock says was begun by a clock that was
 * ahead: it begins now, with its calls.
 */
const openWindow = ({ startedAt, calls }: CallWindow, { told, now }: LockTime): CallWindow => {
  const began = startedAt > told ? told : startedAt;
  const isOpen = now.getTime() < began.getTime() + windowMs;
  return isOpen ? { startedAt: began, calls } : { startedAt: told, calls: 0 };
};

export interface Admissions {
  /** In the order of the calls. */
  readonly outcomes: readonly AdmissionOutcome[];
  /** With the calls that were admitted. */
  readonly window: CallWindow;
  /** Those of them that count for the month. */
  readonly metered: number;
}

/** Admits a root's calls, one after the other, as far as the minute and the month have room. */
export const admitCalls = (
  calls: readonly CallOfKey[],
  spent: { readonly window: CallWindow; readonly usage: MonthlyUsage },
  { requestsPerMinute: limit, monthlyCalls }: Pick<Plan, 'requestsPerMinute' | 'monthlyCalls'>,
  time: LockTime,
  maintenance: boolean,
): Admissions => {
  const { now } = time;
  const window = openWindow(spent.window, time);
  const { startedAt } = window;
  const resetAt = new Date(Math.min(startedAt.getTime(), now.getTime()) + windowMs);
  let windowCalls = window.calls;
  let monthCalls = spent.usage.calls;

  const typeOf = ({ metered, held }: Call): Exclude<AdmissionOutcome['type'], 'keyInvalid'> => {
    if (maintenance) return 'maintenance';
    if (held === true) return 'logAway';
    if (windowCalls >= limit) return 'rateLimited';
    if (metered && monthlyCalls !== null && monthCalls >= monthlyCalls) return 'callsExhausted';
    return 'admitted';
  };

  const outcomes = calls.map(({ call, key }): AdmissionOutcome => {
    const type = typeOf(call);
    if (type === 'admitted') {
      windowCalls += 1;
      if (call.metered) monthCalls += 1;
    }
    const left = { limit, remaining: Math.max(0, limit - windowCalls), resetAt };
    return { type, call: { now, key, window: left, usage: { ...spent.usage, calls: monthCalls } } };
  });
  return {
    outcomes,
    window: { startedAt, calls: windowCalls },
    metered: monthCalls - spent.usage.calls,
  };
};
