import type { LedgerClock } from '../../ops/ledger/clock.js';
import { valuesByField, type Client } from '../../ops/platform/postgres/pool.js';

/** What a key has spent in the month, save for calls: those are admission's. */
export interface LockedMeter {
  readonly keyId: string;
  /** The month's first day, YYYY-MM-DD, UTC. */
  readonly month: string;
  links: number;
  /** Of all months. */
  allLinks: number;
  qrCodes: number;
  /** Of the key's last event in the topic of usage. */
  usageSequence: number;
}

/**
 * Locks the keys' meters, in their order, until the transaction ends. `now` is PostgreSQL's time
 * with the locks held, in milliseconds, but no later than this process believes.
 */
export const lockMeters = async (
  tx: Client,
  keyIds: readonly string[],
  clock: LedgerClock,
): Promise<{ readonly meters: ReadonlyMap<string, LockedMeter>; readonly now: Date }> => {
  const { rows } = await tx.query<LockedMeter & { now: Date }>({
    name: 'meters-lock',
    text: `
      WITH locked AS MATERIALIZED (
        SELECT key_id, month, month_links, month_qr_codes, other_months, all_links, usage_sequence
        FROM ledger.key_meters
        WHERE key_id = ANY ($1::text[]) ORDER BY key_id FOR UPDATE
      ),
      clock AS MATERIALIZED (
        SELECT date_trunc('milliseconds', least(clock_timestamp(), $2::timestamptz)) AS now
        FROM (SELECT count(*) FROM locked) AS after_the_locks
      ),
      months AS (
        SELECT now, date_trunc('month', now AT TIME ZONE 'UTC')::date AS current FROM clock
      )
      SELECT key_id AS "keyId", current AS month,
             CASE WHEN month = current THEN month_links
               ELSE coalesce((other_months -> current::text ->> 1)::bigint, 0) END AS links,
             CASE WHEN month = current THEN month_qr_codes
               ELSE coalesce((other_months -> current::text ->> 2)::bigint, 0) END AS "qrCodes",
             all_links AS "allLinks", usage_sequence AS "usageSequence", now
      FROM locked CROSS JOIN months`,
    values: [[...new Set(keyIds)], clock.latest()],
  });
  const now = rows[0]?.now;
  if (!now) throw new Error('None of the keys has a meter');
  const meters = rows.map(
    ({ keyId, month, links, allLinks, qrCodes, usageSequence }): LockedMeter => {
      return { keyId, month, links, allLinks, qrCodes, usageSequence };
    },
  );
  return { meters: new Map(meters.map((meter) => [meter.keyId, meter])), now };
};

/** Writes meters that the transaction has locked. */
export const saveMeters = async (tx: Client, meters: Iterable<LockedMeter>): Promise<void> => {
  await tx.query({
    name: 'meters-save',
    text: `
      UPDATE ledger.key_meters m
      SET month = i.month, month_links = i.links, month_qr_codes = i.qr_codes,
          all_links = i.all_links, usage_sequence = i.usage_sequence,
          month_calls = CASE WHEN m.month = i.month THEN m.month_calls
            ELSE coalesce((m.other_months -> i.month::text ->> 0)::bigint, 0) END,
          other_months = CASE WHEN m.month = i.month THEN m.other_months
            ELSE ledger.set_aside(m.other_months, m.month, m.month_calls, m.month_links,
                                  m.month_qr_codes, i.month) END
      FROM unnest($1::text[], $2::date[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
        AS i (key_id, month, links, all_links, qr_codes, usage_sequence)
      WHERE m.key_id = i.key_id`,
    values: valuesByField(
      [...meters],
      ...(['keyId', 'month', 'links', 'allLinks', 'qrCodes', 'usageSequence'] as const),
    ),
  });
};
