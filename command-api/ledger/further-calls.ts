import type { LedgerClock } from '../../ops/ledger/clock.js';
import type { Client } from '../../ops/platform/postgres/pool.js';
import { lockMeters, saveMeters } from './meters.js';

/** What the month gave of the calls that a request costs beside the one that it was admitted with. */
export interface FurtherCalls {
  readonly granted: number;
  /** The first day of the next month, YYYY-MM-DD. */
  readonly resetDate: string;
}

/**
 * Takes up to `count` calls of the month from the meter of a root, as many as are left of `limit` (`null`: no
 * limit). The minute does not count them.
 */
export const takeFurtherCalls = async (
  tx: Client,
  clock: LedgerClock,
  rootId: string,
  limit: number | null,
  count: number,
): Promise<FurtherCalls> => {
  const { meters, now } = await lockMeters(tx, [rootId], clock);
  // The meter may be that of an earlier month.
  await saveMeters(tx, meters.values());
  const { rows } = await tx.query<FurtherCalls>({
    name: 'further-calls',
    text: `
      WITH room AS (
        SELECT key_id, month,
               least($2, greatest(coalesce($3::bigint, 9e15::bigint) - month_calls, 0)) AS granted
        FROM ledger.key_meters WHERE key_id = $1
      ),
      counted AS (
        UPDATE ledger.key_meters m SET month_calls = month_calls + granted
        FROM room WHERE m.key_id = room.key_id
      ),
      minutes AS (
        INSERT INTO ledger.usage_minutes AS u (key_id, minute, calls)
        SELECT key_id, date_trunc('minute', $4::timestamptz), granted FROM room WHERE granted > 0
        ON CONFLICT (key_id, minute) DO UPDATE SET calls = u.calls + excluded.calls
      )
      SELECT granted, (month + interval '1 month')::date AS "resetDate" FROM room`,
    values: [rootId, count, limit, now],
  });
  const [taken] = rows;
  if (!taken) throw new Error(`The key ${rootId} has no meter`);
  return taken;
};
