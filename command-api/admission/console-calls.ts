import { createBatcher } from '../../ops/platform/concurrency/batcher.js';
import { mayBeCausedByOneCommand } from '../../ops/platform/error-codes.js';
import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import { principalOf } from '../../ops/ledger/principals.js';
import type { Admission, ReserveCalls } from './admission.js';
import type { Admitted, CallByHash } from './command.js';

/** Calls of the console per root and UTC day that do not count toward the month. */
const freeCalls = 1_000;

/**
 * Locks the free calls of the day, in the order of the roots. The clock may jump: a day that has started never starts
 * again.
 *
 * @returns by SHA-256 of the secret
 */
const lockDays = async (tx: Client, hashes: readonly (string | null)[]) => {
  const { rows } = await tx.query<{ hash: string; rootId: string; calls: number }>({
    name: 'console-calls-lock',
    text: `
      WITH keys AS (
        SELECT DISTINCT a.hash, k."rootId" AS root_id
        FROM unnest($1::text[]) AS a (hash) JOIN ${principalOf("decode(a.hash, 'hex')")} k ON true
      ),
      days AS (
        INSERT INTO ledger.console_calls AS c (root_id, day, calls)
        SELECT DISTINCT root_id, (clock_timestamp() AT TIME ZONE 'UTC')::date, 0 FROM keys
        ORDER BY root_id
        ON CONFLICT (root_id) DO UPDATE
          SET calls = CASE WHEN c.day < excluded.day THEN 0 ELSE c.calls END,
              day = greatest(c.day, excluded.day)
        RETURNING c.root_id, c.calls
      )
      SELECT hash, root_id AS "rootId", calls FROM keys JOIN days USING (root_id)`,
    values: [hashes],
  });
  return new Map<string | null, (typeof rows)[number]>(rows.map((row) => [row.hash, row]));
};

const countFree = async (tx: Client, roots: ReadonlyMap<string, number>): Promise<void> => {
  if (roots.size === 0) return;
  await tx.query({
    name: 'console-calls-count',
    text: `UPDATE ledger.console_calls c SET calls = c.calls + u.calls
           FROM unnest($1::text[], $2::bigint[]) AS u (root_id, calls) WHERE c.root_id = u.root_id`,
    values: [[...roots.keys()], [...roots.values()]],
  });
};

/** Admits the console's calls: the first of the day count toward the minute only. Exact on any number of nodes. */
export const createConsoleAdmission = (pool: Pool, admission: Admission) => {
  const decide = (calls: readonly CallByHash[]): Promise<readonly Admitted[]> =>
    transaction(pool, async (tx) => {
      const hashes = calls.map(({ keyHash }) => keyHash);
      const days = await lockDays(tx, hashes);
      const requested = new Map<string, number>();
      /** For each call, the root for which it is free, or `null`. */
      const roots = calls.map(({ keyHash, metered, logUnavailable }) => {
        const day = days.get(keyHash);
        if (!day || !metered || logUnavailable === true) return null;
        const used = day.calls + (requested.get(day.rootId) ?? 0);
        if (used >= freeCalls) return null;
        requested.set(day.rootId, (requested.get(day.rootId) ?? 0) + 1);
        return day.rootId;
      });
      const admitted = await admission.admitIn(
        tx,
        calls.map((call, index) => (roots[index] === null ? call : { ...call, metered: false })),
      );
      const granted = new Map<string, number>();
      for (const [index, root] of roots.entries()) {
        if (root === null || admitted[index]?.admission.type !== 'admitted') continue;
        granted.set(root, (granted.get(root) ?? 0) + 1);
      }
      await countFree(tx, granted);
      return admitted;
    });

  /** Reserves free calls of the day first, then calls of the month. */
  const reserveCalls: ReserveCalls = (key, count, keyHash) =>
    transaction(pool, async (tx) => {
      const used = (await lockDays(tx, [keyHash])).get(keyHash)?.calls ?? freeCalls;
      const free = Math.min(count, Math.max(0, freeCalls - used));
      await countFree(tx, new Map(free > 0 ? [[key.rootId, free]] : []));
      const reserved = await admission.reserveCallsIn(tx, key, count - free);
      return { ...reserved, granted: free + reserved.granted };
    });

  const limits = { maxBatch: 1_000, maxWaiting: 20_000 };
  const batcher = createBatcher({ ...limits, run: decide, mayBeCausedByOneCommand });
  return {
    admit: (call: CallByHash): Promise<Admitted> => batcher.submit(call),
    reserveCalls,
    /** No route may admit a call itself: that call would count toward the month. */
    wasAdmittedRecently: () => false,
  };
};
