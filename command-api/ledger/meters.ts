import type { Client } from '../../ops/platform/postgres/pool.js';

/** What a key has spent of its monthly links. */
export interface LinkMeter {
  readonly keyId: string;
  /** The month's first day, YYYY-MM-DD, UTC. */
  readonly month: string;
  links: number;
}

/**
 * Locks the keys' meters, in their order, until the transaction ends. `now` is PostgreSQL's time
 * with the locks held, in milliseconds.
 */
export const lockMeters = async (
  tx: Client,
  keyIds: readonly string[],
): Promise<{ readonly meters: ReadonlyMap<string, LinkMeter>; readonly now: Date }> => {
  const { rows } = await tx.query<LinkMeter & { now: Date }>({
    name: 'meters-lock',
    text: `
      WITH locked AS MATERIALIZED (
        SELECT key_id, month, month_links FROM ledger.key_meters
        WHERE key_id = ANY ($1::text[]) ORDER BY key_id FOR UPDATE
      ),
      clock AS MATERIALIZED (
        SELECT date_trunc('milliseconds', clock_timestamp()) AS now
        FROM (SELECT count(*) FROM locked) AS after_the_locks
      ),
      months AS (
        SELECT now, date_trunc('month', now AT TIME ZONE 'UTC')::date AS current FROM clock
      )
      SELECT key_id AS "keyId", greatest(month, current) AS month,
             CASE WHEN month < current THEN 0 ELSE month_links END AS links, now
      FROM locked CROSS JOIN months`,
    values: [[...new Set(keyIds)]],
  });
  const now = rows[0]?.now;
  if (!now) throw new Error('None of the keys has a meter');
  const meters = rows.map(({ keyId, month, links }) => ({ keyId, month, links }));
  return { meters: new Map(meters.map((meter) => [meter.keyId, meter])), now };
};

/** Writes the monthly links of meters that the transaction has locked. */
export const saveLinkCounts = async (tx: Client, meters: readonly LinkMeter[]): Promise<void> => {
  await tx.query({
    name: 'meters-save-links',
    text: `
      UPDATE ledger.key_meters m
      SET month = i.month, month_links = i.links,
          month_calls = CASE WHEN m.month = i.month THEN m.month_calls ELSE 0 END,
          month_qr_codes = CASE WHEN m.month = i.month THEN m.month_qr_codes ELSE 0 END
      FROM unnest($1::text[], $2::date[], $3::bigint[]) AS i (key_id, month, links)
      WHERE m.key_id = i.key_id`,
    values: [
      meters.map(({ keyId }) => keyId),
      meters.map(({ month }) => month),
      meters.map(({ links }) => links),
    ],
  });
};
