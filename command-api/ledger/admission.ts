import {
  mayBlameOne,
  onCommit,
  transaction,
  type Client,
  type Pool,
  type Queryable,
} from '../../ops/platform/postgres/pool.js';
import type { LedgerClock } from '../../ops/ledger/clock.js';
import { BoundedMap } from '../../ops/platform/bounded-map.js';
import { createBatcher } from '../../ops/platform/concurrency/batcher.js';
import { groupBy } from '../../ops/platform/group-by.js';
import type { PlatformFeature } from '../../schemas/folds/platform.js';
import { planNames, type PlanTable } from '../../schemas/plans.js';
import {
  admitCalls,
  type AdmissionOutcome,
  type Call,
  type CallOfKey,
  type CallingKey,
  type GrantedMeter,
  type MonthlyUsage,
} from '../domain/rate-limits.js';
import { takeFurtherCalls, type FurtherCalls } from './further-calls.js';
import type { LockedMeter } from './meters.js';

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

/** Calls that were admitted in a transaction, whose keys' meters it has locked. */
export interface AdmittedGroup {
  readonly admitted: readonly Admitted[];
  /** By the root key's id. */
  readonly meters: ReadonlyMap<string, LockedMeter>;
  /** As `lockMeters` gives it. */
  readonly now: Date;
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

/** The switches, with a key and the meter of its root in one of the rows of the group. */
type Row = PlatformSwitches &
  CallingKey &
  MonthlyUsage &
  Omit<GrantedMeter, 'usage'> &
  Pick<LockedMeter, 'month' | 'allLinks' | 'usageSequence'> & { readonly hash: string | null };

/**
 * One statement for a group of calls: it finds the keys, locks the meters of their roots in order, grants what
 * the minute and the month have room for, and counts that. All keys of a root are granted together: their rows
 * say the same of the meter. The time is PostgreSQL's, read under the locks, but
 * no later than this process believes ($7). A window that began later than PostgreSQL's clock says was begun
 * by a clock that was ahead: it begins now, with its calls.
 */
const statement = `
  WITH asked AS (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS a (hash, metered, unmetered)
  ),
  limits AS (
    SELECT * FROM unnest($4::text[], $5::bigint[], $6::bigint[])
      AS l (plan, per_minute, monthly_calls)
  ),
  locked AS MATERIALIZED (
    SELECT a.hash, a.metered, a.unmetered, k.id, k.root_id, k.name, r.plan, k.account, k.scopes,
           k.last_used_at, least(s.ends_at, k.expires_at, r.expires_at) AS ends_at, p.maintenance,
           m.window_start, m.window_calls, m.month, m.month_calls, m.month_links, m.month_qr_codes,
           m.other_months, m.all_links, m.usage_sequence
    FROM asked a
    JOIN ledger.key_secrets s ON s.hash = decode(a.hash, 'hex')
    JOIN ledger.api_keys k ON k.id = s.key_id AND k.status = 'active'
    JOIN ledger.api_keys r ON r.id = k.root_id AND r.status = 'active'
    JOIN ledger.key_meters m ON m.key_id = r.id
    CROSS JOIN ledger.platform p
    ORDER BY m.key_id FOR UPDATE OF m
  ),
  clock AS MATERIALIZED (
    SELECT clock_timestamp() AS told FROM (SELECT count(*) FROM locked) AS after_the_locks
  ),
  clocked AS MATERIALIZED (
    SELECT l.*, told, least(told, $7::timestamptz) AS now, least(window_start, told) AS began,
           (sum(metered) OVER of_root)::bigint AS asked_metered,
           (sum(unmetered) OVER of_root)::bigint AS asked_unmetered
    FROM locked l CROSS JOIN clock
    WHERE ends_at IS NULL OR least(told, $7::timestamptz) < ends_at
    WINDOW of_root AS (PARTITION BY root_id)
  ),
  opened AS (
    SELECT c.*, this_month, is_open, limits.per_minute, limits.monthly_calls,
           CASE WHEN is_open THEN c.window_calls ELSE 0 END AS used_window,
           CASE WHEN same_month THEN c.month_calls ELSE coalesce((others ->> 0)::bigint, 0) END AS used_calls,
           CASE WHEN same_month THEN c.month_links ELSE coalesce((others ->> 1)::bigint, 0) END AS used_links,
           CASE WHEN same_month THEN c.month_qr_codes ELSE coalesce((others ->> 2)::bigint, 0) END
             AS used_qr_codes
    FROM clocked c
    JOIN limits USING (plan)
    CROSS JOIN LATERAL (
      SELECT date_trunc('month', now AT TIME ZONE 'UTC')::date AS this_month,
             now < c.began + interval '60 seconds' AS is_open
    ) t
    CROSS JOIN LATERAL (
      SELECT c.month = this_month AS same_month, c.other_months -> this_month::text AS others
    ) s
  ),
  room AS (
    SELECT o.*,
           CASE WHEN maintenance THEN 0 ELSE greatest(per_minute - used_window, 0) END AS minute_room,
           greatest(coalesce(monthly_calls, 9e15::bigint) - used_calls, 0) AS month_room
    FROM opened o
  ),
  granted AS MATERIALIZED (
    SELECT r.*, free.granted AS granted_unmetered,
           least(asked_metered, minute_room - free.granted, month_room) AS granted_metered
    FROM room r CROSS JOIN LATERAL (SELECT least(asked_unmetered, minute_room) AS granted) free
  ),
  counted AS (
    UPDATE ledger.key_meters m
    SET window_start = CASE WHEN is_open THEN g.began ELSE g.told END,
        window_calls = used_window + granted_metered + granted_unmetered,
        month = this_month,
        month_calls = used_calls + granted_metered,
        month_links = used_links,
        month_qr_codes = used_qr_codes,
        other_months = CASE WHEN g.month = this_month THEN m.other_months
          ELSE ledger.set_aside(g.other_months, g.month, g.month_calls, g.month_links,
                                g.month_qr_codes, this_month) END
    FROM granted g
    WHERE m.key_id = g.root_id AND (granted_metered + granted_unmetered > 0 OR g.began < m.window_start)
  ),
  minutes AS (
    INSERT INTO ledger.usage_minutes AS u (key_id, minute, calls)
    SELECT DISTINCT root_id, date_trunc('minute', now), granted_metered FROM granted
    WHERE granted_metered > 0 ORDER BY root_id
    ON CONFLICT (key_id, minute) DO UPDATE SET calls = u.calls + excluded.calls
  ),
  used AS (
    UPDATE ledger.api_keys k SET last_used_at = date_trunc('minute', g.now) FROM granted g
    WHERE k.id = g.id AND granted_metered + granted_unmetered > 0
      AND (g.last_used_at IS NULL OR g.last_used_at < date_trunc('minute', g.now))
  )
  SELECT p.maintenance, p.shortening, p.aliases, p.passwords, p.expiration, p.qr,
         g.hash, g.id, g.root_id AS "rootId", g.name, g.plan, g.account, g.scopes, g.now,
         CASE WHEN is_open THEN least(g.began, g.now) ELSE g.now END + interval '60 seconds'
           AS "windowResetAt",
         used_window::bigint AS "windowCalls", used_calls AS calls, used_links AS links,
         used_qr_codes AS "qrCodes", this_month AS month,
         all_links AS "allLinks", usage_sequence AS "usageSequence", (this_month + interval '1 month')::date AS "resetDate",
         granted_metered AS "grantedMetered", granted_unmetered AS "grantedUnmetered"
  FROM ledger.platform p LEFT JOIN granted g ON true`;

/** Admits calls. Its limits are exact on any number of nodes and through any crash. */
export const createAdmission = (pool: Pool, clock: LedgerClock, table: PlanTable) => {
  const limits = planNames.map((plan) => table.plans[plan]);

  const decide = async (
    postgres: Queryable,
    calls: readonly CallByHash[],
  ): Promise<AdmittedGroup> => {
    const withKey = calls.filter(({ keyHash }) => keyHash !== null);
    const groups = groupBy(withKey, ({ keyHash }) => keyHash);
    /** Each group's calls that the ledger may grant, by kind. */
    const asked = (metered: boolean): number[] =>
      Array.from(
        groups.values(),
        (group) => group.filter((call) => !call.held && call.metered === metered).length,
      );
    const { rows } = await postgres.query<Row>({
      name: 'admission',
      text: statement,
      values: [
        [...groups.keys()],
        asked(true),
        asked(false),
        planNames,
        limits.map((plan) => plan.requestsPerMinute),
        limits.map((plan) => plan.monthlyCalls),
        clock.latest(),
      ],
    });
    const [platform] = rows;
    if (!platform) throw new Error('The ledger has no platform row');
    const rowByHash = new Map(rows.map((row) => [row.hash, row]));
    const known = withKey.flatMap(
      (call): readonly (CallOfKey & { call: CallByHash; row: Row })[] => {
        const row = rowByHash.get(call.keyHash);
        if (!row) return [];
        const { id, rootId, name, plan, account, scopes } = row;
        return [{ call, row, key: { id, rootId, name, plan, account, scopes } }];
      },
    );
    const admissions = new Map<CallByHash, AdmissionOutcome>();
    const meters = new Map<string, LockedMeter>();
    let now = new Date(0);
    for (const [rootId, ofRoot] of groupBy(known, ({ key }) => key.rootId)) {
      const row = ofRoot[0]?.row;
      if (!row) continue;
      const { calls: monthCalls, links, qrCodes, resetDate, maintenance } = row;
      const { month, allLinks, usageSequence } = row;
      meters.set(rootId, { keyId: rootId, month, links, allLinks, qrCodes, usageSequence });
      ({ now } = row);
      const usage = { calls: monthCalls, links, qrCodes, resetDate };
      const admitted = admitCalls(ofRoot, { ...row, usage }, table, maintenance);
      ofRoot.forEach(({ call }, index) => {
        const admission = admitted[index];
        if (admission) admissions.set(call, admission);
      });
    }
    const unknown: AdmissionOutcome = platform.maintenance
      ? { type: 'maintenance', call: null }
      : { type: 'keyInvalid' };
    const admitted = calls.map((call) => ({
      admission: admissions.get(call) ?? unknown,
      platform,
    }));
    return { admitted, meters, now };
  };

  const batcher = createBatcher({
    maxBatch: maxGroup,
    maxWaiting,
    run: async (calls: readonly CallByHash[]) => (await decide(pool, calls)).admitted,
    mayBlameOne,
  });
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

  const takeFurtherIn = (tx: Client, key: CallingKey, count: number): Promise<FurtherCalls> =>
    takeFurtherCalls(tx, clock, key.rootId, table.plans[key.plan].monthlyCalls, count);

  const takeFurther: TakeFurther = (key, count) =>
    transaction(pool, (tx) => takeFurtherIn(tx, key, count));

  return {
    counts,
    takeFurtherIn,
    takeFurther,
    /** Decides whether a call is admitted, and counts it if so. */
    async admit(call: CallByHash): Promise<Admitted> {
      const refusal = call.keyHash === null ? undefined : refusals.get(call.keyHash);
      if (refusal && refusal.until > performance.now()) {
        counts.rateLimited += 1;
        return refusal.admitted;
      }
      const admitted = await batcher.submit(call);
      note(call, admitted);
      return admitted;
    },
    /** Decides that within a transaction: calls are counted, and remembered, where that is committed. */
    async admitIn(tx: Client, calls: readonly CallByHash[]): Promise<AdmittedGroup> {
      const group = await decide(tx, calls);
      onCommit(tx, () => {
        calls.forEach((call, index) => {
          const admitted = group.admitted[index];
          if (admitted) note(call, admitted);
        });
      });
      return group;
    },
    /** Whether the key's last call was admitted, not long ago: what a stranger cannot have. */
    wasAdmittedLately: (keyHash: string | null): boolean =>
      keyHash !== null && (admittedKeys.get(keyHash) ?? 0) > performance.now(),
  };
};
