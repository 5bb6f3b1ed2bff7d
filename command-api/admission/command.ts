import { accepted, refused, type Decider } from '../../schemas/decision.js';
import { monthAfter } from '../../schemas/folds/key-meter.js';
import type { PlatformSwitches } from '../../schemas/folds/platform.js';
import type { Principal } from '../../schemas/principal.js';
import type { Plan, PlanTable } from '../../schemas/plans.js';

/** A request to admit. */
export interface Call {
  /** An unmetered call counts toward the minute only. */
  readonly metered: boolean;
  /** The request needs the log, which is unavailable: it is refused and costs nothing. */
  readonly logUnavailable?: boolean;
}

/** A key, or a person. */
export type CallingKey = Principal;

/** The per-minute window after a call. */
interface RateWindow {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: Date;
}

interface MonthlyUsage {
  readonly calls: number;
  readonly links: number;
  readonly qrCodes: number;
  /** The first day of the next month, YYYY-MM-DD. */
  readonly resetDate: string;
}

interface CallOfKey {
  readonly call: Call;
  readonly key: CallingKey;
}

/** A window of the per-minute limit, with the number of its calls. */
interface CallWindow {
  readonly startedAt: Date;
  readonly calls: number;
}

/** The data of the rate-limit headers and of later checks. */
export interface AdmittedCall {
  readonly now: Date;
  readonly key: CallingKey;
  readonly window: RateWindow;
  readonly usage: MonthlyUsage;
}

/** Why a call of a known key is refused. */
interface AdmissionRefusal {
  readonly type: 'logUnavailable' | 'rateLimited' | 'callsExhausted';
}

export type AdmissionOutcome =
  | { readonly type: 'keyInvalid' }
  | { readonly type: 'maintenance'; readonly call: AdmittedCall | null }
  | { readonly type: AdmissionRefusal['type'] | 'admitted'; readonly call: AdmittedCall };

interface AdmitCall {
  readonly type: 'AdmitCall';
  readonly data: Call & {
    readonly maintenance: boolean;
    readonly limits: Pick<Plan, 'requestsPerMinute' | 'monthlyCalls'>;
  };
}

/** Not an event of the log: CallsMetered has the sum of a minute. */
interface CallAdmitted {
  readonly type: 'CallAdmitted';
  readonly metered: boolean;
}

/** Calls of the current window and month. */
interface CallCounts {
  readonly minute: number;
  readonly month: number;
}

const admissionDecider: Decider<
  AdmitCall,
  CallAdmitted,
  CallCounts,
  AdmissionRefusal | { readonly type: 'maintenance' }
> = {
  initialState: { minute: 0, month: 0 },
  decide({ data: { metered, logUnavailable, maintenance, limits } }, { minute, month }) {
    const { requestsPerMinute, monthlyCalls } = limits;
    if (maintenance) return refused({ type: 'maintenance' });
    if (logUnavailable === true) return refused({ type: 'logUnavailable' });
    if (minute >= requestsPerMinute) return refused({ type: 'rateLimited' });
    if (metered && monthlyCalls !== null && month >= monthlyCalls) {
      return refused({ type: 'callsExhausted' });
    }
    return accepted({ type: 'CallAdmitted', metered });
  },
  evolve: ({ minute, month }, { metered }) => ({
    minute: minute + 1,
    month: metered ? month + 1 : month,
  }),
};

const windowMs = 60_000;

/** The time under the locks: PostgreSQL's clock, and that clock after `LedgerClock.clampedNow`. */
interface LockTime {
  readonly databaseTime: Date;
  readonly now: Date;
}

/**
 * The window of a call. If the window starts in the future (the clock was wrong then), it starts now and keeps its
 * calls.
 */
const openWindow = (
  { startedAt, calls }: CallWindow,
  { databaseTime, now }: LockTime,
): CallWindow => {
  const start = startedAt > databaseTime ? databaseTime : startedAt;
  const isOpen = now.getTime() < start.getTime() + windowMs;
  return isOpen ? { startedAt: start, calls } : { startedAt: databaseTime, calls: 0 };
};

export interface Admissions {
  /** The outcomes have the order of the calls. */
  readonly outcomes: readonly AdmissionOutcome[];
  /** The window includes the admitted calls. */
  readonly window: CallWindow;
  /** The number of admitted calls that count toward the month. */
  readonly metered: number;
}

/** Decides the calls of one root in their order. */
export const admitCalls = (
  calls: readonly CallOfKey[],
  spent: { readonly window: CallWindow; readonly usage: MonthlyUsage },
  limits: Pick<Plan, 'requestsPerMinute' | 'monthlyCalls'>,
  time: LockTime,
  maintenance: boolean,
): Admissions => {
  const { now } = time;
  const { startedAt, calls: minute } = openWindow(spent.window, time);
  const resetAt = new Date(Math.min(startedAt.getTime(), now.getTime()) + windowMs);
  const limit = limits.requestsPerMinute;
  let counts: CallCounts = { minute, month: spent.usage.calls };

  const outcomes = calls.map(({ call, key }): AdmissionOutcome => {
    const command: AdmitCall = { type: 'AdmitCall', data: { ...call, maintenance, limits } };
    const decision = admissionDecider.decide(command, counts);
    if (decision.type === 'accepted') {
      counts = decision.events.reduce(admissionDecider.evolve, counts);
    }
    const window = { limit, remaining: Math.max(0, limit - counts.minute), resetAt };
    const usage = { ...spent.usage, calls: counts.month };
    const type = decision.type === 'refused' ? decision.refusal.type : 'admitted';
    return { type, call: { now, key, window, usage } };
  });
  return {
    outcomes,
    window: { startedAt, calls: counts.minute },
    metered: counts.month - spent.usage.calls,
  };
};

/** A call, with the SHA-256 of its key; `null` if the request had no well-formed key. */
export interface CallByHash extends Call {
  readonly keyHash: string | null;
}

export interface Admitted {
  readonly admission: AdmissionOutcome;
  readonly platform: PlatformSwitches;
}

/** The calls of a root key in the window of the minute, and its usage of the month. */
interface Meter {
  readonly month: string;
  calls: number;
  readonly links: number;
  readonly qrCodes: number;
  windowStart: Date;
  windowCalls: number;
}

/** The known keys of calls by their hash, and the meters of their roots by ID, under the locks of the meters. */
interface LockedGroup<RootMeter extends Meter> {
  readonly platform: PlatformSwitches;
  readonly keys: ReadonlyMap<string | null, CallingKey & { readonly lastUsedAt: Date | null }>;
  readonly meters: ReadonlyMap<string, RootMeter>;
  readonly time: LockTime;
}

/** Decided calls. Their cost is in the meters, but not written yet. */
export interface AdmittedGroup<RootMeter = unknown> {
  readonly calls: readonly CallByHash[];
  /** The outcomes, in the order of the calls. */
  readonly admitted: readonly Admitted[];
  readonly spent: Set<RootMeter>;
  /** The calls of each root key that count toward the month. */
  readonly metered: ReadonlyMap<string, number>;
  /** The keys whose time of last use changes. */
  readonly keysUsed: ReadonlySet<string>;
}

const callingKeyOf = ({ id, rootId, name, plan, account, scopes }: CallingKey): CallingKey => {
  return { id, rootId, name, plan, account, scopes };
};

/** Decides the calls of several roots, and changes their meters. */
export const admitGroup = <RootMeter extends Meter>(
  { platform, keys, meters, time }: LockedGroup<RootMeter>,
  calls: readonly CallByHash[],
  { plans }: PlanTable,
): AdmittedGroup<RootMeter> => {
  const minute = new Date(time.now.getTime() - (time.now.getTime() % windowMs));
  const admissions = new Map<CallByHash, AdmissionOutcome>();
  const spent = new Set<RootMeter>();
  const meteredCalls = new Map<string, number>();
  const keysUsed = new Set<string>();
  const callsByRoot = new Map<string, (CallOfKey & { readonly call: CallByHash })[]>();
  for (const call of calls) {
    const key = keys.get(call.keyHash);
    if (!key) continue;
    const callsOfRoot = callsByRoot.get(key.rootId) ?? [];
    callsOfRoot.push({ call, key: callingKeyOf(key) });
    callsByRoot.set(key.rootId, callsOfRoot);
  }
  for (const [rootId, callsOfRoot] of callsByRoot) {
    const [first] = callsOfRoot;
    if (!first) continue;
    const meter = meters.get(rootId);
    if (!meter) throw new Error(`The key ${rootId} has no meter`);
    const { month, calls: monthCalls, links, qrCodes, windowStart, windowCalls } = meter;
    const { outcomes, window, metered } = admitCalls(
      callsOfRoot,
      {
        window: { startedAt: windowStart, calls: windowCalls },
        usage: { calls: monthCalls, links, qrCodes, resetDate: monthAfter(month) },
      },
      plans[first.key.plan],
      time,
      platform.maintenance,
    );
    callsOfRoot.forEach(({ call, key }, index) => {
      const outcome = outcomes[index];
      if (!outcome) return;
      admissions.set(call, outcome);
      if (outcome.type !== 'admitted') return;
      spent.add(meter);
      const lastUsedAt = keys.get(call.keyHash)?.lastUsedAt ?? null;
      if (lastUsedAt === null || lastUsedAt < minute) keysUsed.add(key.id);
    });
    // The window started in the future: save its new start, even if no call is admitted.
    if (window.startedAt < windowStart) spent.add(meter);
    if (!spent.has(meter)) continue;
    meter.windowStart = window.startedAt;
    meter.windowCalls = window.calls;
    meter.calls += metered;
    if (metered > 0) meteredCalls.set(rootId, metered);
  }
  const unknown: AdmissionOutcome = platform.maintenance
    ? { type: 'maintenance', call: null }
    : { type: 'keyInvalid' };
  const admitted = calls.map((call) => ({ admission: admissions.get(call) ?? unknown, platform }));
  return { calls, admitted, spent, metered: meteredCalls, keysUsed };
};
