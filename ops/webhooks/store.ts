/** The state of deliveries, which is no fold of the log: see 0104_delivery.sql. */
import type { Client, Queryable } from '../platform/postgres/pool.js';
import type { Attempt } from './sender.js';

export interface Delivery {
  /** UUIDv7: the `webhook-id` of all attempts. */
  readonly id: string;
  readonly types: readonly string[];
  /** The number of events. */
  readonly count: number;
  readonly status: 'pending' | 'delivered' | 'failed';
  /** The oldest first. */
  readonly attempts: readonly Attempt[];
  readonly nextAttemptAt: Date | null;
}

const deliveryColumns = `id, types, count, status, attempts, next_attempt_at AS "nextAttemptAt"`;

/** Stores the cursor of a new webhook, in the transaction that creates the webhook. */
export const insertCursor = async (tx: Client, webhook: string, cursor: string): Promise<void> => {
  await tx.query('INSERT INTO delivery.cursors (webhook, cursor) VALUES ($1, $2)', [
    ...[webhook, cursor],
  ]);
};

/** Moves the cursor of a webhook, also if it was lost by a restore or is of another log. */
export const replaceCursor = async (
  postgres: Queryable,
  webhook: string,
  cursor: string,
): Promise<void> => {
  await postgres.query(
    `INSERT INTO delivery.cursors AS c (webhook, cursor) VALUES ($1, $2)
     ON CONFLICT (webhook) DO UPDATE
     SET cursor = excluded.cursor, generation = c.generation + 1, stopped_reason = NULL,
       owner = NULL, free_since = clock_timestamp()`,
    [webhook, cursor],
  );
};

/** Restarts the time after which failures disable a webhook. */
export const forgetFailures = async (tx: Client, webhook: string): Promise<void> => {
  await tx.query('UPDATE delivery.cursors SET failing_since = NULL WHERE webhook = $1', [webhook]);
};

/** Removes everything of a deleted webhook. */
export const deleteDeliveries = async (tx: Client, webhook: string): Promise<void> => {
  await tx.query('DELETE FROM delivery.cursors WHERE webhook = $1', [webhook]);
  await tx.query('DELETE FROM delivery.deliveries WHERE webhook = $1', [webhook]);
};

/** The progress of a webhook. */
export interface Progress {
  readonly cursor: string;
  /** Why nothing is delivered. */
  readonly stoppedReason: string | null;
  /** Events of deliveries that wait for an attempt. */
  readonly pendingEvents: number;
  /** Since when no delivery succeeds; `null`: the last one succeeded. */
  readonly failingSince: Date | null;
  readonly lastDelivery: (Pick<Delivery, 'id' | 'status'> & { readonly at: Date }) | null;
}

/** The progress of webhooks by ID. A webhook whose cursor was lost has none. */
export const readProgress = async (
  postgres: Queryable,
  webhooks: readonly string[],
): Promise<ReadonlyMap<string, Progress>> => {
  const { rows } = await postgres.query<{
    webhook: string;
    cursor: string;
    stoppedReason: string | null;
    pendingEvents: number;
    failingSince: Date | null;
    id: string | null;
    status: Delivery['status'];
    at: Date;
  }>({
    name: 'webhooks-progress',
    text: `SELECT c.webhook, c.cursor, c.stopped_reason AS "stoppedReason",
             c.failing_since AS "failingSince", last.*,
             (SELECT coalesce(sum(count), 0)::bigint FROM delivery.deliveries
              WHERE webhook = c.webhook AND status = 'pending') AS "pendingEvents"
           FROM delivery.cursors c LEFT JOIN LATERAL (
             SELECT id, status, coalesce((attempts -> -1 ->> 'at')::timestamptz, created_at) AS at
             FROM delivery.deliveries WHERE webhook = c.webhook ORDER BY id DESC LIMIT 1
           ) last ON true
           WHERE c.webhook = ANY ($1::text[])`,
    values: [webhooks],
  });
  return new Map(
    rows.map(({ webhook, id, status, at, ...progress }) => [
      webhook,
      { ...progress, lastDelivery: id === null ? null : { id, status, at } },
    ]),
  );
};

/** Deliveries of a webhook, the newest first. @param before only older ones than this delivery */
export const listDeliveries = async (
  postgres: Queryable,
  webhook: string,
  query: {
    readonly status: Delivery['status'] | null;
    readonly before: string | null;
    readonly limit: number;
  },
): Promise<readonly Delivery[]> => {
  const { rows } = await postgres.query<Delivery>({
    name: 'deliveries-page',
    text: `SELECT ${deliveryColumns} FROM delivery.deliveries
           WHERE webhook = $1 AND ($2::text IS NULL OR status = $2) AND ($3::uuid IS NULL OR id < $3)
           ORDER BY id DESC LIMIT $4`,
    values: [webhook, query.status, query.before, query.limit],
  });
  return rows;
};

/** A delivery with the body of its request; `null` if the webhook has none with this ID. */
export const readDelivery = async (
  postgres: Queryable,
  webhook: string,
  id: string,
): Promise<(Delivery & { readonly body: string | null }) | null> => {
  const { rows } = await postgres.query<Delivery & { readonly body: string | null }>(
    `SELECT ${deliveryColumns}, body FROM delivery.deliveries WHERE webhook = $1 AND id = $2`,
    [webhook, id],
  );
  return rows[0] ?? null;
};

/** Makes a delivery due now. */
export const retryDelivery = async (
  postgres: Queryable,
  webhook: string,
  id: string,
): Promise<'due' | 'notFound' | 'notStored'> => {
  const { rows } = await postgres.query<{ isStored: boolean }>(
    `WITH found AS (
       SELECT id, body IS NOT NULL AS "isStored" FROM delivery.deliveries
       WHERE webhook = $1 AND id = $2 FOR UPDATE
     ),
     due AS (
       UPDATE delivery.deliveries d SET status = 'pending', next_attempt_at = clock_timestamp()
       FROM found f WHERE d.id = f.id AND f."isStored"
     )
     SELECT "isStored" FROM found`,
    [webhook, id],
  );
  const [found] = rows;
  if (!found) return 'notFound';
  return found.isStored ? 'due' : 'notStored';
};
