import { mayBeCausedByOneCommand } from '../../ops/platform/error-codes.js';
import {
  execute,
  lockingTransaction,
  transaction,
  type Client,
  type Pool,
} from '../../ops/platform/postgres/pool.js';
import { writeOnly, type Write } from '../../ops/platform/postgres/statement.js';
import type { LedgerClock } from '../../ops/ledger/clock.js';
import {
  countCalls,
  countMinutes,
  lockCalls,
  lockMeters,
  minuteOf,
  saveMeters,
  type LockedCalls,
  type LockedMeter,
} from '../../ops/ledger/meters.js';
import { BoundedMap } from '../../ops/platform/collections.js';
import { createBatcher } from '../../ops/platform/concurrency/batcher.js';
import { monthAfter } from '../../schemas/folds/key-meter.js';
import type { PlanTable } from '../../schemas/plans.js';
import {
  admitGroup,
  type Admitted,
  type AdmittedGroup,
  type AdmissionOutcome,
  type CallByHash,
  type CallingKey,
} from './command.js';

/** Calls that a request costs in addition to its own. */
export interface AdditionalCalls {
  readonly granted: number;
  /** The first day of the next month, YYYY-MM-DD. */
  readonly resetDate: string;
}

/** Reserves up to `count` additional calls. */
export type ReserveCalls = (
  key: CallingKey,
  count: number,
  keyHash: string | null,
) => Promise<AdditionalCalls>;

/** Calls by outcome since the start. */
export type AdmissionCounts = Readonly<Record<AdmissionOutcome['type'], number>>;

export type Admission = ReturnType<typeof createAdmission>;

/** How long calls are refused from memory when a window is full (ms). Delays the effect of a change of the plan. */
const refusalMs = 1_000;
/** How long after its last admitted call a key counts as recently admitted (ms). */
const recentMs = 60_000;
/** Entries of each cache. */
const maxCached = 10_000;

/** Admits calls. The limits are exact on any number of nodes and through any crash. */
export const createAdmission = (pool: Pool, clock: LedgerClock, table: PlanTable) => {
  const refusals = new BoundedMap<string, { readonly until: number; readonly admitted: Admitted }>(
    maxCached,
  );
  /** End of `recentMs`, by hash of the key. */
  const admittedKeys = new BoundedMap<string, number>(maxCached);

  const counts: Record<AdmissionOutcome['type'], number> = {
    admitted: 0,
    keyInvalid: 0,
    logUnavailable: 0,
    rateLimited: 0,
    callsExhausted: 0,
    maintenance: 0,
  };

  /** Counts a call's outcome, and caches it for later calls. */
  const record = ({ keyHash }: CallByHash, admitted: Admitted): void => {
    const { admission } = admitted;
    counts[admission.type] += 1;
    if (keyHash === null) return;
    if (admission.type === 'admitted') {
      admittedKeys.set(keyHash, performance.now() + recentMs);
      refusals.delete(keyHash);
      return;
    }
    admittedKeys.delete(keyHash);
    if (admission.type !== 'rateLimited') {
      refusals.delete(keyHash);
      return;
    }
    const left = admission.call.window.resetAt.getTime() - admission.call.now.getTime();
    const until = performance.now() + Math.min(left, refusalMs);
    refusals.set(keyHash, { until, admitted });
  };

  const remember = ({ calls, admitted }: Pick<AdmittedGroup, 'calls' | 'admitted'>): void => {
    calls.forEach((call, index) => {
      const outcome = admitted[index];
      if (outcome) record(call, outcome);
    });
  };

  /** Writes what calls cost, and caches their outcomes after COMMIT. */
  const write = (group: AdmittedGroup<LockedMeter>, now: Date): Write<readonly Admitted[]> => ({
    statements: [...saveMeters(group.spent), ...countCalls(group, now)],
    resultOf: () => group.admitted,
    afterCommit: () => {
      remember(group);
    },
  });

  const lockAll = (tx: Client, calls: readonly CallByHash[]): Promise<LockedCalls> =>
    lockCalls(
      tx,
      calls.map(({ keyHash }) => keyHash),
      clock,
    );

  const batcher = createBatcher({
    maxBatch: 1_000,
    maxWaiting: 20_000,
    run: (calls: readonly CallByHash[]) =>
      lockingTransaction(
        pool,
        (tx) => lockAll(tx, calls),
        (locked) => write(admitGroup(locked, calls, table), locked.time.now),
      ),
    mayBeCausedByOneCommand,
  });

  /** Reserves up to `count` calls of the month. They do not count toward the minute. */
  const reserveCallsIn = async (
    tx: Client,
    { rootId, plan }: CallingKey,
    count: number,
  ): Promise<AdditionalCalls> => {
    const { meters, now } = await lockMeters(tx, [rootId], clock);
    const meter = meters.get(rootId);
    if (!meter) throw new Error(`The key ${rootId} has no meter`);
    const limit = table.plans[plan].monthlyCalls;
    const granted = limit === null ? count : Math.min(count, Math.max(0, limit - meter.calls));
    if (granted > 0) {
      meter.calls += granted;
      const minute = { keyId: rootId, minute: minuteOf(now), calls: granted };
      await execute(tx, writeOnly([...saveMeters([meter]), ...countMinutes([minute])]));
    }
    return { granted, resetDate: monthAfter(meter.month) };
  };

  const reserveCalls: ReserveCalls = (key, count) =>
    transaction(pool, (tx) => reserveCallsIn(tx, key, count));

  return {
    counts,
    reserveCallsIn,
    reserveCalls,
    /** Decides whether a call is admitted, and counts it if so. */
    admit(call: CallByHash): Promise<Admitted> {
      const refusal = call.keyHash === null ? undefined : refusals.get(call.keyHash);
      if (!refusal || refusal.until <= performance.now()) return batcher.submit(call);
      counts.rateLimited += 1;
      return Promise.resolve(refusal.admitted);
    },
    table,
    /** Caches the outcomes of calls that another transaction admitted, after its COMMIT. */
    remember,
    /** Decides calls in the caller's transaction, and writes their cost. */
    async admitIn(tx: Client, calls: readonly CallByHash[]): Promise<readonly Admitted[]> {
      const locked = await lockAll(tx, calls);
      return execute(tx, write(admitGroup(locked, calls, table), locked.time.now));
    },
    /** Whether the key's last call was admitted recently. False for a guessed key. */
    wasAdmittedRecently: (keyHash: string | null): boolean =>
      keyHash !== null && (admittedKeys.get(keyHash) ?? 0) > performance.now(),
  };
};
