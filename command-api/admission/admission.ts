import { mayBeCausedByOneCommand } from '../../ops/platform/error-codes.js';
import {
  execute,
  lockingTransaction,
  transaction,
  type Client,
  type Pool,
} from '../../ops/platform/postgres/pool.js';
import type { Statement, Write } from '../../ops/platform/postgres/statement.js';
import type { LedgerClock } from '../../ops/ledger/clock.js';
import {
  meterColumns,
  saveMeters,
  moveToMonth,
  type LockedMeter,
} from '../../ops/ledger/meters.js';
import { BoundedMap } from '../../ops/platform/bounded-map.js';
import { createBatcher } from '../../ops/platform/concurrency/batcher.js';
import { groupBy } from '../../ops/platform/group-by.js';
import { monthAfter } from '../../schemas/folds/key-meter.js';
import type { PlatformFeature } from '../../schemas/folds/platform.js';
import type { PlanTable } from '../../schemas/plans.js';
import { admitCalls, type AdmissionOutcome, type Call, type CallingKey } from './rate-limits.js';
import { takeFurtherCalls, type FurtherCalls } from './additional-calls.js';
import { countMinutes, minuteOf, type CallsOfMinute } from './metering.js';

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

/** Calls that were decided about under the locks of their roots' meters. What they cost is yet to be written. */
export interface AdmittedGroup {
  readonly admitted: readonly Admitted[];
  /** By the root key's id. */
  readonly meters: ReadonlyMap<string, LockedMeter>;
  /** Those that `saveMeters` has to write. */
  readonly spent: Set<LockedMeter>;
  /** What `countCalls` has to write. */
  readonly minutes: readonly CallsOfMinute[];
  readonly keysUsed: readonly string[];
  /** As `lockMeters` gives it. */
  readonly now: Date;
  /** Remembers what the outcomes say of later calls; to be called when they are committed. */
  readonly remember: () => void;
}

/** Takes calls that the request of a key costs beside its own, as many of `count` as there are. */
export type TakeFurther = (
  key: CallingKey,
  count: number,
  keyHash: string | null,
) => Promise<FurtherCalls>;

/** Calls by outcome since the start. */
export type AdmissionCounts = Readonly<Record<AdmissionOutcome['type'], number>>;

export type Admission = ReturnType<typeof createAdmission>;

const maxGroup = 1_000;
const maxWaiting = 20_000;
/** Milliseconds that a full window is refused from memory: the time that any change may take. */
const refusalMs = 1_000;
/** Milliseconds that a key counts as one that was admitted lately. */
const lateMs = 60_000;
/** Keys that are remembered, of each kind. */
const maxRemembered = 10_000;

/** A key that was called with, and the meter of its root. */
interface KeyRow extends CallingKey, LockedMeter {
  readonly hash: string;
  readonly lastUsedAt: Date | null;
  /** When the secret, the key or its root ends. */
  readonly endsAt: Date | null;
}

/** The switches, with one of the keys; without one where none is known. */
type Row = PlatformSwitches & { readonly told: Date } & (KeyRow | { readonly hash: null });

const callingKeyOf = ({ id, rootId, name, plan, account, scopes }: KeyRow): CallingKey => {
  return { id, rootId, name, plan, account, scopes };
};

/** PostgreSQL's clock is read for each row that comes, locked, out of the inner query. */
const lockingStatement = `
  SELECT p.maintenance, p.shortening, p.aliases, p.passwords, p.expiration, p.qr,
         l.*, clock_timestamp() AS told
  FROM ledger.platform p
  LEFT JOIN (
    SELECT a.hash, k.id, k.root_id AS "rootId", k.name, r.plan, k.account, k.scopes,
           k.last_used_at AS "lastUsedAt",
           least(s.ends_at, k.expires_at, r.expires_at) AS "endsAt", ${meterColumns}
    FROM unnest($1::text[]) AS a (hash)
    JOIN ledger.key_secrets s ON s.hash = decode(a.hash, 'hex')
    JOIN ledger.api_keys k ON k.id = s.key_id AND k.status = 'active'
    JOIN ledger.api_keys r ON r.id = k.root_id AND r.status = 'active'
    JOIN ledger.key_meters m ON m.key_id = r.id
    ORDER BY m.key_id FOR UPDATE OF m
  ) l ON true`;

/** Counts admitted calls to their minutes, and notes when their keys were used. */
export const countCalls = ({ minutes, keysUsed, now }: AdmittedGroup): readonly Statement[] => {
  const used: Statement = {
    name: 'keys-used',
    // Keys are locked in the order of their ids everywhere, which an UPDATE alone does not do.
    text: `UPDATE ledger.api_keys k SET last_used_at = $2
           FROM (SELECT id FROM ledger.api_keys
                 WHERE id = ANY ($1::text[]) AND (last_used_at IS NULL OR last_used_at < $2)
                 ORDER BY id FOR NO KEY UPDATE) AS locked
           WHERE k.id = locked.id`,
    values: [keysUsed, minuteOf(now)],
  };
  return [...countMinutes(minutes), ...(keysUsed.length > 0 ? [used] : [])];
};

const writeAll = (group: AdmittedGroup): Write<readonly Admitted[]> => ({
  statements: [...saveMeters(group.spent), ...countCalls(group)],
  resultOf: () => group.admitted,
  afterCommit: group.remember,
});

/** Admits calls. Its limits are exact on any number of nodes and through any crash. */
export const createAdmission = (pool: Pool, clock: LedgerClock, table: PlanTable) => {
  const refusals = new BoundedMap<string, { readonly until: number; readonly admitted: Admitted }>(
    maxRemembered,
  );
  /** By the key's hash: until when. */
  const admittedKeys = new BoundedMap<string, number>(maxRemembered);

  const counts: Record<AdmissionOutcome['type'], number> = {
    admitted: 0,
    keyInvalid: 0,
    logAway: 0,
    rateLimited: 0,
    callsExhausted: 0,
    maintenance: 0,
  };

  /** Counts a call's outcome, and remembers what it says of later calls. */
  const note = ({ keyHash }: CallByHash, admitted: Admitted): void => {
    const { admission } = admitted;
    counts[admission.type] += 1;
    if (keyHash === null) return;
    if (admission.type === 'admitted') {
      admittedKeys.set(keyHash, performance.now() + lateMs);
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

  /** The known keys by their hash, with their roots' meters locked. */
  const lockKeys = async (tx: Client, calls: readonly CallByHash[]) => {
    const hashes = new Set(calls.flatMap(({ keyHash }) => keyHash ?? []));
    const { rows } = await tx.query<Row>({
      name: 'admission-lock',
      text: lockingStatement,
      values: [[...hashes]],
    });
    // By the time of the last row, all meters are locked.
    const platform = rows.at(-1);
    if (!platform) throw new Error('The ledger has no platform row');
    const { told } = platform;
    const now = clock.believed(told);
    const keys = new Map<string | null, KeyRow>();
    for (const row of rows) {
      if (row.hash !== null && (row.endsAt === null || now < row.endsAt)) keys.set(row.hash, row);
    }
    return { platform, keys, time: { told, now } };
  };

  /** Decides about calls, under the locks of their roots' meters. */
  const decideIn = async (tx: Client, calls: readonly CallByHash[]): Promise<AdmittedGroup> => {
    const { platform, keys, time } = await lockKeys(tx, calls);
    const { now } = time;
    const minute = minuteOf(now);
    const admissions = new Map<CallByHash, AdmissionOutcome>();
    const meters = new Map<string, LockedMeter>();
    const spent = new Set<LockedMeter>();
    const minutes: CallsOfMinute[] = [];
    const keysUsed = new Set<string>();
    const ofKeys = calls.flatMap((call) => {
      const row = keys.get(call.keyHash);
      return row ? [{ call, row, key: callingKeyOf(row) }] : [];
    });
    for (const [rootId, ofRoot] of groupBy(ofKeys, ({ key }) => key.rootId)) {
      const [first] = ofRoot;
      if (!first) continue;
      const meter = moveToMonth(first.row, now);
      meters.set(rootId, meter);
      const { month, calls: monthCalls, links, qrCodes, windowStart, windowCalls } = meter;
      const { outcomes, window, metered } = admitCalls(
        ofRoot,
        {
          window: { startedAt: windowStart, calls: windowCalls },
          usage: { calls: monthCalls, links, qrCodes, resetDate: monthAfter(month) },
        },
        table.plans[first.key.plan],
        time,
        platform.maintenance,
      );
      ofRoot.forEach(({ call, row }, index) => {
        const outcome = outcomes[index];
        if (!outcome) return;
        admissions.set(call, outcome);
        if (outcome.type !== 'admitted') return;
        spent.add(meter);
        if (row.lastUsedAt === null || row.lastUsedAt < minute) keysUsed.add(row.id);
      });
      // It was begun by a clock that was ahead: even where nothing is admitted, it ends 60 s from now.
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
    const remember = (): void => {
      calls.forEach((call, index) => {
        const outcome = admitted[index];
        if (outcome) note(call, outcome);
      });
    };
    return { admitted, meters, spent, minutes, keysUsed: [...keysUsed], now, remember };
  };

  const batcher = createBatcher({
    maxBatch: maxGroup,
    maxWaiting,
    run: (calls: readonly CallByHash[]) =>
      lockingTransaction(pool, (tx) => decideIn(tx, calls), writeAll),
    mayBeCausedByOneCommand,
  });

  const takeFurtherIn = (tx: Client, key: CallingKey, count: number): Promise<FurtherCalls> =>
    takeFurtherCalls(tx, clock, key.rootId, table.plans[key.plan].monthlyCalls, count);

  const takeFurther: TakeFurther = (key, count) =>
    transaction(pool, (tx) => takeFurtherIn(tx, key, count));

  return {
    counts,
    takeFurtherIn,
    takeFurther,
    /** Decides whether a call is admitted, and counts it if so. */
    admit(call: CallByHash): Promise<Admitted> {
      const refusal = call.keyHash === null ? undefined : refusals.get(call.keyHash);
      if (!refusal || refusal.until <= performance.now()) return batcher.submit(call);
      counts.rateLimited += 1;
      return Promise.resolve(refusal.admitted);
    },
    /** Decides that within a transaction, which has to write what the calls cost. */
    decideIn,
    /** Decides that within a transaction, and writes what the calls cost. */
    async admitIn(tx: Client, calls: readonly CallByHash[]): Promise<readonly Admitted[]> {
      return execute(tx, writeAll(await decideIn(tx, calls)));
    },
    /** Whether the key's last call was admitted, not long ago: what a stranger cannot have. */
    wasAdmittedLately: (keyHash: string | null): boolean =>
      keyHash !== null && (admittedKeys.get(keyHash) ?? 0) > performance.now(),
  };
};
