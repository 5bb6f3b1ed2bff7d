/** Leases, cursors and deliveries: see 0104_delivery.sql. */
import { webhookColumns, webhookOfRow } from '../../ops/ledger/webhooks.js';
import type { Pool, Queryable } from '../../ops/platform/postgres/pool.js';
import type { Attempt } from '../../ops/webhooks/sender.js';
import type { Webhook } from '../../schemas/folds/webhook.js';
import type { NewDelivery } from './grouping.js';

/** How long a lease lasts after its process was killed (s), and from when on it is renewed. */
const leaseTerms = { seconds: 10, renewSeconds: 6 };

/** Webhooks that one process delivers at most. */
const maxLeases = 500;

/** How long a new delivery waits for its first attempt before it counts as overdue (s). */
const firstAttemptSeconds = 300;

/** Bytes of bodies that stay stored after their delivery, so that it can be repeated. */
const maxStoredBody = 8_192;

/** The newest attempts of a delivery: all automatic ones, and some that were requested. */
const maxStoredAttempts = 20;

const keepDeliveriesDays = 30;

/** Another process delivers the webhook, or its cursor was moved. */
export class LeaseLost extends Error {
  readonly code = 'LEASE_LOST';
}

/** A webhook that this process delivers. */
export interface Leased {
  readonly id: string;
  readonly webhook: Webhook;
  readonly generation: number;
  /** Whether a delivery is due. */
  readonly isDue: boolean;
}

/** Renews the leases of a process, and takes those of other webhooks that no process has. */
const renewLeases = async (pool: Pool, owner: string): Promise<void> => {
  await pool.query({
    name: 'webhooks-lease',
    text: `UPDATE delivery.cursors c
           SET owner = $1, leased_until = clock_timestamp() + $2 * interval '1 second'
           FROM (SELECT c.webhook FROM delivery.cursors c JOIN ledger.webhooks w ON w.id = c.webhook
                 WHERE w.status = 'enabled' AND c.stopped_reason IS NULL
                   AND coalesce(c.leased_until, '-infinity') < clock_timestamp()
                     + CASE WHEN c.owner = $1 THEN $3 ELSE 0 END * interval '1 second'
                 ORDER BY c.owner = $1 DESC NULLS LAST, c.webhook
                 LIMIT $4 - (SELECT count(*) FROM delivery.cursors WHERE owner = $1
                   AND leased_until >= clock_timestamp() + $3 * interval '1 second')
                 FOR UPDATE OF c SKIP LOCKED) due
           WHERE c.webhook = due.webhook`,
    values: [owner, leaseTerms.seconds, leaseTerms.renewSeconds, maxLeases],
  });
};

/** Renews and takes leases. Returns the webhooks that this process delivers. */
export const leaseWebhooks = async (pool: Pool, owner: string): Promise<readonly Leased[]> => {
  await renewLeases(pool, owner);
  const { rows } = await pool.query<
    Parameters<typeof webhookOfRow>[0] & Pick<Leased, 'generation' | 'isDue'>
  >({
    name: 'webhooks-leased',
    text: `SELECT ${webhookColumns}, c.generation,
             EXISTS (SELECT FROM delivery.deliveries d WHERE d.webhook = c.webhook
                     AND d.status = 'pending' AND d.next_attempt_at <= clock_timestamp()) AS "isDue"
           FROM delivery.cursors c JOIN ledger.webhooks w ON w.id = c.webhook
           WHERE c.owner = $1 AND c.leased_until > clock_timestamp() AND c.stopped_reason IS NULL
             AND w.status = 'enabled'
           LIMIT $2`,
    values: [owner, maxLeases],
  });
  return rows.map(({ generation, isDue, ...row }) => ({
    ...{ id: row.id, generation, isDue },
    webhook: webhookOfRow(row),
  }));
};

export const releaseLeases = async (pool: Pool, owner: string): Promise<void> => {
  await pool.query(
    'UPDATE delivery.cursors SET owner = NULL, leased_until = NULL WHERE owner = $1',
    [owner],
  );
};

/** One process's right to move the cursor of a webhook. */
export interface Lease {
  readonly id: string;
  readonly owner: string;
  readonly generation: number;
}

const isCurrent =
  'webhook = $1 AND owner = $2 AND generation = $3 AND leased_until > clock_timestamp()';
const valuesOf = ({ id, owner, generation }: Lease) => [id, owner, generation];

/** @throws LeaseLost */
export const readCursor = async (postgres: Queryable, lease: Lease): Promise<string> => {
  const { rows } = await postgres.query<{ cursor: string }>({
    name: 'webhooks-cursor',
    text: `SELECT cursor FROM delivery.cursors WHERE ${isCurrent}`,
    values: valuesOf(lease),
  });
  const [row] = rows;
  if (!row) throw new LeaseLost(`the lease of ${lease.id} was lost`);
  return row.cursor;
};

/**
 * Checks that the webhook has not changed since the lease: an attempt that begins after the response of a change uses what
 * it set.
 *
 * @throws LeaseLost
 */
export const requireUnchanged = async (
  postgres: Queryable,
  lease: Lease,
  { sequence }: Webhook,
): Promise<void> => {
  const { rowCount } = await postgres.query({
    name: 'webhooks-unchanged',
    text: `SELECT FROM delivery.cursors JOIN ledger.webhooks w ON w.id = webhook
           WHERE ${isCurrent} AND w.sequence = $4 AND w.status = 'enabled'`,
    values: [...valuesOf(lease), sequence],
  });
  if (rowCount === 0) throw new LeaseLost(`the webhook ${lease.id} was changed`);
};

/**
 * Stores deliveries and the cursor after their events. Returns the number of pending deliveries of the webhook.
 *
 * @throws LeaseLost
 */
export const saveDeliveries = async (
  postgres: Queryable,
  lease: Lease,
  cursor: string,
  deliveries: readonly NewDelivery[],
): Promise<number> => {
  const { rows } = await postgres.query<{ pending: number }>({
    name: 'webhooks-save',
    text: `WITH moved AS (UPDATE delivery.cursors SET cursor = $4 WHERE ${isCurrent} RETURNING webhook),
           inserted AS (
             INSERT INTO delivery.deliveries
               (id, webhook, created_at, types, count, status, next_attempt_at, body)
             SELECT d.id, m.webhook, clock_timestamp(), string_to_array(d.types, ','), d.count, 'pending',
               clock_timestamp() + $9 * interval '1 second', d.body
             FROM moved m, unnest($5::uuid[], $6::text[], $7::integer[], $8::text[])
               AS d (id, types, count, body)
           )
           SELECT (SELECT count(*) FROM delivery.deliveries
                   WHERE webhook = m.webhook AND status = 'pending') AS pending FROM moved m`,
    values: [
      ...[...valuesOf(lease), cursor, deliveries.map(({ id }) => id)],
      ...[deliveries.map(({ types }) => types.join()), deliveries.map(({ count }) => count)],
      ...[deliveries.map(({ body }) => body), firstAttemptSeconds],
    ],
  });
  const [row] = rows;
  if (!row) throw new LeaseLost(`the lease of ${lease.id} was lost`);
  return row.pending + deliveries.length;
};

export const countPending = async (postgres: Queryable, webhook: string): Promise<number> => {
  const { rows } = await postgres.query<{ pending: number }>({
    name: 'webhooks-pending',
    text: `SELECT count(*) AS pending FROM delivery.deliveries
           WHERE webhook = $1 AND status = 'pending'`,
    values: [webhook],
  });
  return rows[0]?.pending ?? 0;
};

/** Makes deliveries due whose first attempt another process has not recorded. */
export const resumeDeliveries = async (postgres: Queryable, lease: Lease): Promise<void> => {
  await postgres.query(
    `WITH held AS (SELECT FROM delivery.cursors WHERE ${isCurrent} FOR UPDATE)
     UPDATE delivery.deliveries SET next_attempt_at = clock_timestamp()
     WHERE webhook = $1 AND status = 'pending' AND attempts = '[]' AND EXISTS (SELECT FROM held)`,
    valuesOf(lease),
  );
};

/** A delivery to attempt. */
export interface DueDelivery {
  readonly id: string;
  readonly body: string;
  /** Earlier attempts. */
  readonly attempts: number;
}

/** The deliveries that are due, the oldest first, at most `limit`. */
export const readDue = async (
  postgres: Queryable,
  webhook: string,
  limit: number,
): Promise<readonly DueDelivery[]> => {
  const { rows } = await postgres.query<DueDelivery>({
    name: 'webhooks-due',
    text: `SELECT id, body, jsonb_array_length(attempts) AS attempts FROM delivery.deliveries
           WHERE webhook = $1 AND status = 'pending' AND body IS NOT NULL
             AND next_attempt_at <= clock_timestamp()
           ORDER BY next_attempt_at, id LIMIT $2`,
    values: [webhook, limit],
  });
  return rows;
};

/**
 * Records an attempt, unless another one has ended the delivery meanwhile. Returns since when deliveries of the webhook
 * fail; `null` after a success.
 *
 * @throws LeaseLost
 */
export const recordAttempt = async (
  postgres: Queryable,
  lease: Lease,
  delivery: string,
  attempt: Attempt,
  result:
    | { readonly status: 'delivered' | 'failed' }
    | { readonly status: 'pending'; readonly nextAttemptAt: Date },
): Promise<Date | null> => {
  const { rows } = await postgres.query<{ failingSince: Date | null }>({
    name: 'webhooks-attempt',
    text: `WITH held AS (SELECT FROM delivery.cursors WHERE ${isCurrent} FOR UPDATE),
           attempted AS (
             UPDATE delivery.deliveries SET status = $6, next_attempt_at = $7,
               attempts = CASE WHEN jsonb_array_length(attempts) < ${maxStoredAttempts}
                 THEN attempts ELSE attempts - 0 END || $5::jsonb,
               body = CASE WHEN $6 <> 'delivered' OR octet_length(body) <= ${maxStoredBody} THEN body END
             WHERE id = $4 AND webhook = $1 AND status = 'pending' AND EXISTS (SELECT FROM held)
             RETURNING id
           )
           UPDATE delivery.cursors
           SET failing_since = CASE WHEN NOT EXISTS (SELECT FROM attempted) THEN failing_since
             WHEN $6 <> 'delivered' THEN coalesce(failing_since, $8) END
           WHERE ${isCurrent} AND EXISTS (SELECT FROM held)
           RETURNING failing_since AS "failingSince"`,
    values: [
      ...[...valuesOf(lease), delivery, JSON.stringify([attempt]), result.status],
      ...['nextAttemptAt' in result ? result.nextAttemptAt : null, attempt.at],
    ],
  });
  const [row] = rows;
  if (!row) throw new LeaseLost(`the lease of ${lease.id} was lost`);
  return row.failingSince;
};

/** Stops a webhook whose cursor is not of this log. */
export const stopWebhook = async (
  postgres: Queryable,
  lease: Lease,
  reason: string,
): Promise<void> => {
  await postgres.query(`UPDATE delivery.cursors SET stopped_reason = $4 WHERE ${isCurrent}`, [
    ...valuesOf(lease),
    reason,
  ]);
};

const deletedTogether = 10_000;

/** Deletes old deliveries. Returns their number, at most 10,000. */
export const deleteOldDeliveries = async (pool: Pool): Promise<number> => {
  const { rowCount } = await pool.query(
    `DELETE FROM delivery.deliveries WHERE id IN (
       SELECT id FROM delivery.deliveries
       WHERE created_at < clock_timestamp() - $1 * interval '1 day' ORDER BY created_at LIMIT $2)`,
    [keepDeliveriesDays, deletedTogether],
  );
  return rowCount ?? 0;
};
