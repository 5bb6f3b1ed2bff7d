import { mayBeCausedByOneCommand } from '../../ops/platform/error-codes.js';
import {
  execute,
  lockingTransaction,
  transaction,
  type Client,
  type Pool,
} from '../../ops/platform/postgres/pool.js';
import { writeOnly, type Statement, type Write } from '../../ops/platform/postgres/statement.js';
import { scopesColumn } from '../../ops/ledger/api-keys.js';
import type { LedgerClock } from '../../ops/ledger/clock.js';
import {
  countMinutes,
  lockMeters,
  meterColumns,
  minuteOf,
  saveMeters,
  moveToMonth,
  type CallsOfMinute,
  type LockedMeter,
} from '../../ops/ledger/meters.js';
import { BoundedMap, groupBy } from '../../ops/platform/collections.js';
import { createBatcher } from '../../ops/platform/concurrency/batcher.js';
import { monthAfter } from '../../schemas/folds/key-meter.js';
import type { PlatformFeature } from '../../schemas/folds/platform.js';
import type { PlanTable } from '../../schemas/plans.js';
import {
  admitCalls,
  type AdmissionOutcome,
  type Call,
  type CallingKey,
  type LockTime,
} from './command.js';

/** A call, with the SHA-256 of its key; `null` if the request had no well-formed key. */
export interface CallByHash extends Call {
  readonly keyHash: string | null;
}

/** The platform's switches at the time of admission. */
export type PlatformSwitches = Readonly<Record<PlatformFeature | 'maintenance', boolean>>;

export interface Admitted {
  readonly admission: AdmissionOutcome;
  readonly platform: PlatformSwitches;
}

/** The known keys of calls, and the locked meters of their roots. */
export interface LockedKeys {
  readonly platform: PlatformSwitches;
  /** The keys by SHA-256 of the secret. Keys that have ended are absent. */
  readonly keys: ReadonlyMap<string | null, KeyRow>;
  /** The meters by ID of the root key. */
  readonly meters: ReadonlyMap<string, LockedMeter>;
  readonly time: LockTime;
}

/** Decided calls. Their cost is not written yet. */
interface AdmittedGroup {
  readonly admitted: readonly Admitted[];
  /** The meters for `saveMeters`. */
  readonly spent: Set<LockedMeter>;
  /** The statements that count the admitted calls, without those that save the meters. */
  readonly counted: readonly Statement[];
  /** Caches the outcomes for later calls; to be called after COMMIT. */
  readonly cache: () => void;
}

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

const maxGroup = 1_000;
const maxWaiting = 20_000;
/** How long calls are refused from memory when a window is full (ms). Delays the effect of a change of the plan. */
const refusalMs = 1_000;
/** How long after its last admitted call a key counts as recently admitted (ms). */
const recentMs = 60_000;
/** Entries of each cache. */
const maxCached = 10_000;

/** A key, and the meter of its root. */
interface KeyRow extends CallingKey, LockedMeter {
  readonly hash: string;
  readonly lastUsedAt: Date | null;
  /** The earliest end of the secret, the key and its root. */
  readonly endsAt: Date | null;
}

/** The switches with one of the keys. If all keys are unknown, one row has the switches alone. */
type Row = PlatformSwitches & { readonly databaseTime: Date } & (KeyRow | { readonly hash: null });

const callingKeyOf = ({ id, rootId, name, plan, account, scopes }: KeyRow): CallingKey => {
  return { id, rootId, name, plan, account, scopes };
};

/** clock_timestamp() is evaluated after the inner query has locked the row. */
const lockingStatement = `
  SELECT p.maintenance, p.shortening, p.aliases, p.passwords, p.expiration, p.qr,
         l.*, clock_timestamp() AS "databaseTime"
  FROM ledger.platform p
  LEFT JOIN (
    SELECT a.hash, k.id, k.root_id AS "rootId", k.name, r.plan, k.account, ${scopesColumn},
           k.last_used_at AS "lastUsedAt",
           least(s.ends_at, k.expires_at, r.expires_at) AS "endsAt", ${meterColumns}
    FROM unnest($1::text[]) AS a (hash)
    JOIN ledger.key_secrets s ON s.hash = decode(a.hash, 'hex')
    JOIN ledger.api_keys k ON k.id = s.key_id AND k.status = 'active'
    JOIN ledger.api_keys r ON r.id = k.root_id AND r.status = 'active'
    JOIN ledger.key_meters m ON m.key_id = r.id
    ORDER BY m.key_id FOR UPDATE OF m
  ) l ON true`;

/** Reads the known keys by their hash, and locks the meters of their roots, in the order of their IDs. */
export const lockKeys = async (
  tx: Client,
  hashes: readonly (string | null)[],
  clock: LedgerClock,
): Promise<LockedKeys> => {
  const { rows } = await tx.query<Row>({
    name: 'admission-lock',
    text: lockingStatement,
    values: [[...new Set(hashes)].filter((hash) => hash !== null)],
  });
  // When the last row is returned, all meters are locked.
  const platform = rows.at(-1);
  if (!platform) throw new Error('The ledger has no platform row');
  const { databaseTime } = platform;
  const now = clock.clampedNow(databaseTime);
  const keys = new Map<string | null, KeyRow>();
  const meters = new Map<string, LockedMeter>();
  for (const row of rows) {
    if (row.hash === null || (row.endsAt !== null && now >= row.endsAt)) continue;
    keys.set(row.hash, row);
    if (!meters.has(row.rootId)) meters.set(row.rootId, moveToMonth(row, now));
  }
  return { platform, keys, meters, time: { databaseTime, now } };
};

/** Adds admitted calls to their minutes, and updates when their keys were last used. */
const countCalls = (
  minutes: readonly CallsOfMinute[],
  keysUsed: readonly string[],
  now: Date,
): readonly Statement[] => {
  const used: Statement = {
    name: 'keys-used',
    // An UPDATE alone would not lock the keys in the order of their IDs.
    text: `UPDATE ledger.api_keys k SET last_used_at = $2
           FROM (SELECT id FROM ledger.api_keys
                 WHERE id = ANY ($1::text[]) AND (last_used_at IS NULL OR last_used_at < $2)
                 ORDER BY id FOR NO KEY UPDATE) AS locked
           WHERE k.id = locked.id`,
    values: [keysUsed, minuteOf(now)],
  };
  return [...countMinutes(minutes), ...(keysUsed.length > 0 ? [used] : [])];
};

const writeAll = ({
  admitted,
  spent,
  counted,
  cache,
}: AdmittedGroup): Write<readonly Admitted[]> => ({
  statements: [...saveMeters(spent), ...counted],
  resultOf: () => admitted,
  afterCommit: cache,
});

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

  /** Decides calls, under the locks of their roots' meters. */
  const decide = (
    { platform, keys, meters, time }: LockedKeys,
    calls: readonly CallByHash[],
  ): AdmittedGroup => {
    const { now } = time;
    const minute = minuteOf(now);
    const admissions = new Map<CallByHash, AdmissionOutcome>();
    const spent = new Set<LockedMeter>();
    const minutes: CallsOfMinute[] = [];
    const keysUsed = new Set<string>();
    const callsOfKeys = calls.flatMap((call) => {
      const row = keys.get(call.keyHash);
      return row ? [{ call, row, key: callingKeyOf(row) }] : [];
    });
    for (const [rootId, callsOfRoot] of groupBy(callsOfKeys, ({ key }) => key.rootId)) {
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
        table.plans[first.key.plan],
        time,
        platform.maintenance,
      );
      callsOfRoot.forEach(({ call, row }, index) => {
        const outcome = outcomes[index];
        if (!outcome) return;
        admissions.set(call, outcome);
        if (outcome.type !== 'admitted') return;
        spent.add(meter);
        if (row.lastUsedAt === null || row.lastUsedAt < minute) keysUsed.add(row.id);
      });
      // The window started in the future: save its new start, even if no call is admitted.
      if (window.startedAt < windowStart) spent.add(meter);
      if (!spent.has(meter)) continue;
      meter.windowStart = window.startedAt;
      meter.windowCalls = window.calls;
      meter.calls += metered;
      if (metered > 0) minutes.push({ keyId: rootId, minute, calls: metered });
    }
    const unknown: AdmissionOutcome = platform.maintenance
      ? { type: 'maintenance', call: null }
      : { type: 'keyInvalid' };
    const admitted = calls.map((call) => ({
      admission: admissions.get(call) ?? unknown,
      platform,
    }));
    const cache = (): void => {
      calls.forEach((call, index) => {
        const outcome = admitted[index];
        if (outcome) record(call, outcome);
      });
    };
    return { admitted, spent, counted: countCalls(minutes, [...keysUsed], now), cache };
  };

  const lockAll = (tx: Client, calls: readonly CallByHash[]): Promise<LockedKeys> =>
    lockKeys(
      tx,
      calls.map(({ keyHash }) => keyHash),
      clock,
    );

  const batcher = createBatcher({
    maxBatch: maxGroup,
    maxWaiting,
    run: (calls: readonly CallByHash[]) =>
      lockingTransaction(
        pool,
        (tx) => lockAll(tx, calls),
        (locked) => writeAll(decide(locked, calls)),
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
    /** Decides calls in the caller's transaction, which writes their cost. */
    decide,
    /** Decides calls in the caller's transaction, and writes their cost. */
    async admitIn(tx: Client, calls: readonly CallByHash[]): Promise<readonly Admitted[]> {
      return execute(tx, writeAll(decide(await lockAll(tx, calls), calls)));
    },
    /** Whether the key's last call was admitted recently. False for a guessed key. */
    wasAdmittedRecently: (keyHash: string | null): boolean =>
      keyHash !== null && (admittedKeys.get(keyHash) ?? 0) > performance.now(),
  };
};
