/** Which process delivers which webhooks: see 0104_delivery.sql. */
import { webhookTable } from '../../ops/ledger/webhooks.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Webhook } from '../../schemas/folds/webhook.js';
import type { NewDelivery } from './grouping.js';

/** How long a killed process keeps its webhooks (s). The others check every second. */
const leaseSeconds = 7;

/** Webhooks that are taken together. 5,000 that start concurrently leave a heap twice as large. */
const takenTogether = 500;

/** A webhook that this process delivers, and its state when the lease began. */
export interface Leased {
  readonly id: string;
  readonly webhook: Webhook;
  /** Identifies the lease: each owner has a new one. */
  readonly generation: number;
  readonly cursor: string;
  /** Whether the last attempt failed. */
  readonly isFailing: boolean;
  /** The number of deliveries that wait for an attempt, and those whose first one is not recorded, the oldest first. */
  readonly pending: number;
  readonly unattempted: readonly Pick<NewDelivery, 'id' | 'body'>[];
}

const isEnabled = `w.status = 'enabled' AND c.stopped_reason IS NULL`;

interface Counts {
  readonly deliverers: number;
  readonly enabled: number;
  /** Webhooks of this process, and those among them that changed or are not enabled. */
  readonly own: number;
  readonly changed: number;
  /** Enabled webhooks that no process has, and how long the first of them waits (s). */
  readonly free: number;
  readonly waitingSeconds: number;
}

/** Renews the lease of this process. */
const renew = async (pool: Pool, owner: string): Promise<Counts> => {
  const { rows } = await pool.query<Counts>({
    name: 'webhooks-lease',
    text: `WITH renewed AS (
             INSERT INTO delivery.deliverers (id, leased_until)
             VALUES ($1, clock_timestamp() + interval '${leaseSeconds} seconds')
             ON CONFLICT (id) DO UPDATE SET leased_until = excluded.leased_until),
           ended AS (
             DELETE FROM delivery.deliverers
             WHERE leased_until < clock_timestamp() - interval '1 day' AND id <> $1),
           known AS (
             SELECT ${isEnabled} AS "isEnabled", c.owner = $1 AS "isOwn",
               w.sequence IS DISTINCT FROM c.leased_sequence AS "isChanged",
               (d.leased_until > clock_timestamp()) IS TRUE AS "isLeased",
               greatest(w.last_event_at, c.free_since, d.leased_until) AS since
             FROM delivery.cursors c JOIN ledger.webhooks w ON w.id = c.webhook
             LEFT JOIN delivery.deliverers d ON d.id = c.owner),
           free AS (
             SELECT since FROM known WHERE "isEnabled" AND "isOwn" IS NOT TRUE AND NOT "isLeased")
           SELECT count(*) FILTER (WHERE "isEnabled") AS enabled, count(*) FILTER (WHERE "isOwn") AS own,
             count(*) FILTER (WHERE "isOwn" AND ("isChanged" OR NOT "isEnabled")) AS changed,
             (SELECT count(*) FROM free) AS free,
             (SELECT extract(epoch FROM clock_timestamp() - min(since))::float8 FROM free) AS "waitingSeconds",
             (SELECT count(*) + 1 FROM delivery.deliverers
              WHERE leased_until > clock_timestamp() AND id <> $1) AS deliverers
           FROM known`,
    values: [owner],
  });
  const [counts] = rows;
  if (!counts) throw new Error('the counts of webhooks have no row');
  return counts;
};

/** Releases all webhooks of a process but `share` of those that are delivered and did not change. Returns their IDs. */
const release = async (
  pool: Pool,
  owner: string,
  delivered: readonly string[],
  share: number,
): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ webhook: string }>({
    name: 'webhooks-release',
    text: `UPDATE delivery.cursors SET owner = NULL, free_since = clock_timestamp()
           WHERE webhook IN (
             SELECT webhook FROM delivery.cursors WHERE owner = $1 AND webhook NOT IN (
               SELECT c.webhook FROM delivery.cursors c JOIN ledger.webhooks w ON w.id = c.webhook
               WHERE c.owner = $1 AND ${isEnabled} AND w.sequence = c.leased_sequence
                 AND c.webhook = ANY ($2::text[])
               LIMIT $3)
             FOR UPDATE SKIP LOCKED)
           RETURNING webhook`,
    values: [owner, delivered, share],
  });
  return rows.map(({ webhook }) => webhook);
};

/** Takes webhooks that no process has. */
const take = async (pool: Pool, owner: string, limit: number): Promise<readonly Leased[]> => {
  type Row = Parameters<typeof webhookTable.activeOf>[0] & Omit<Leased, 'webhook'>;
  const { rows } = await pool.query<Row>({
    name: 'webhooks-take',
    text: `UPDATE delivery.cursors c
           SET owner = $1, generation = c.generation + 1, leased_sequence = w.sequence
           FROM (SELECT w.* FROM delivery.cursors c JOIN ledger.webhooks w ON w.id = c.webhook
                 WHERE ${isEnabled} AND (c.owner IS NULL OR c.owner <> $1 AND NOT EXISTS (
                   SELECT FROM delivery.deliverers
                   WHERE id = c.owner AND leased_until > clock_timestamp()))
                 LIMIT $2 FOR UPDATE OF c SKIP LOCKED) w
           WHERE c.webhook = w.id
           RETURNING ${webhookTable.columns('w.')}, c.generation, c.cursor, c.failing_since IS NOT NULL AS "isFailing",
             (SELECT count(*) FROM delivery.deliveries WHERE webhook = w.id AND status = 'pending') AS pending,
             (SELECT coalesce(json_agg(json_build_object('id', d.id, 'body', d.body) ORDER BY d.id), '[]')
              FROM delivery.deliveries d
              WHERE d.webhook = w.id AND d.status = 'pending' AND d.attempts = '[]') AS unattempted`,
    values: [owner, limit],
  });
  return rows.map(({ generation, cursor, isFailing, pending, unattempted, ...row }) => ({
    ...{ id: row.id, generation, cursor, isFailing, pending, unattempted },
    webhook: webhookTable.activeOf(row),
  }));
};

/**
 * Renews the lease of a process, and gives it an equal share of the enabled webhooks. The shares together are at least all
 * of them, so none is left.
 *
 * @param delivered the webhooks that the process delivers now
 */
export const renewLeases = async (pool: Pool, owner: string, delivered: readonly string[]) => {
  const counts = await renew(pool, owner);
  const { changed, own, free } = counts;
  const share = Math.ceil(counts.enabled / counts.deliverers);
  const keepsAll = changed === 0 && own === delivered.length && own <= share;
  const released = keepsAll ? [] : await release(pool, owner, delivered, share);
  const room = share - own + released.length;
  const isUseful = room > 0 && free + released.length > 0;
  const taken = isUseful ? await take(pool, owner, Math.min(room, takenTogether)) : [];
  const unleased = Math.max(0, free - taken.length);
  return { released, taken, unleased, waitingSeconds: unleased > 0 ? counts.waitingSeconds : 0 };
};

export const endLeases = async (pool: Pool, owner: string): Promise<void> => {
  await pool.query(
    `WITH ended AS (DELETE FROM delivery.deliverers WHERE id = $1)
     UPDATE delivery.cursors SET owner = NULL, free_since = clock_timestamp() WHERE owner = $1`,
    [owner],
  );
};
