/** Cursors and deliveries: see 0104_delivery.sql. Statements of many webhooks are grouped, because a burst has thousands. */
import { createBatcher } from '../../ops/platform/concurrency/batcher.js';
import { mayBeCausedByOneCommand } from '../../ops/platform/error-codes.js';
import { valuesByField, type Pool } from '../../ops/platform/postgres/pool.js';
import type { Attempt } from '../../ops/webhooks/sender.js';
import type { NewDelivery } from './grouping.js';
import type { Leased } from './leases.js';

/** How long a new delivery waits for its first attempt before it is retried (s). Longer than attempts of ten in a row. */
const firstAttemptSeconds = 900;

/** Bytes of bodies that stay stored after their delivery, so that it can be repeated. */
const maxStoredBody = 8_192;

/** The newest attempts of a delivery: all automatic ones, and some that were requested. */
const maxStoredAttempts = 20;

const keepDeliveriesDays = 30;

/** How long before their time deliveries are read (ms): the interval of the query. */
export const readAheadMs = 1_000;

/** Due deliveries of one query, and of one webhook in it; a receiver that fails gets one at a time. */
const maxDue = { all: 200, webhook: 50 };

/** Another process delivers the webhook, or it was changed. */
export class LeaseLost extends Error {
  readonly code = 'LEASE_LOST';
}

/** One worker's right to deliver a webhook. */
export type Lease = Pick<Leased, 'id' | 'generation'>;

/** A delivery to attempt. */
export interface DueDelivery {
  readonly webhook: string;
  readonly id: string;
  readonly body: string;
  /** Earlier attempts. */
  readonly attempts: number;
  readonly dueInMs: number;
}

interface Portion extends Lease {
  /** The cursor after the events of the deliveries. */
  readonly cursor: string;
  readonly deliveries: readonly NewDelivery[];
}

interface RecordedAttempt extends Lease {
  readonly delivery: string;
  readonly attempt: Attempt;
  readonly status: 'delivered' | 'failed' | 'pending';
  readonly nextAttemptAt: Date | null;
}

/** Webhooks of one statement. */
const maxGroup = 500;
/** Bytes of bodies in one statement. */
const maxGroupBytes = 4_000_000;

/** Selects the leases of `owner` ($1) among webhooks ($2) with generations ($3). */
const isHeld = `c.owner = $1 AND (c.webhook, c.generation) IN (SELECT * FROM unnest($2::text[], $3::bigint[]))`;
const locked = `held AS (SELECT * FROM delivery.cursors c WHERE ${isHeld} ORDER BY webhook FOR UPDATE)`;

const keyOf = ({ id, generation }: Lease): string => `${id} ${generation}`;

/** @param owner of the leases */
export const openStore = (pool: Pool, owner: string) => {
  /** Returns a function that runs a statement for the commands of a tick. The function throws LeaseLost without a row. */
  const grouped = <Command extends Lease, Row extends object>(
    statement: { readonly name: string; readonly text: string },
    valuesOf: (commands: readonly Command[]) => unknown[],
    sizeOf: (command: Command) => number = () => maxGroupBytes / maxGroup,
  ) => {
    const batcher = createBatcher<Command, Row | undefined>({
      maxBatch: maxGroupBytes,
      sizeOf,
      maxWaiting: Infinity,
      mayBeCausedByOneCommand,
      async run(commands) {
        const values = [owner, ...valuesByField(commands, 'id', 'generation')];
        const { rows } = await pool.query<Row & Lease>({
          ...{ ...statement, values: [...values, ...valuesOf(commands)] },
        });
        const found = new Map(rows.map((row) => [keyOf(row), row]));
        return commands.map((command) => found.get(keyOf(command)));
      },
    });
    return async (command: Command): Promise<Row> => {
      const row = await batcher.submit(command);
      if (!row) throw new LeaseLost(`the lease of ${command.id} was lost`);
      return row;
    };
  };

  return {
    /** Checks that the webhook has not changed since the lease: an attempt that begins after a response uses what it set. */
    requireUnchanged: grouped<Lease, Lease>(
      {
        name: 'webhooks-unchanged',
        text: `SELECT c.webhook AS id, c.generation
               FROM delivery.cursors c JOIN ledger.webhooks w ON w.id = c.webhook
               WHERE ${isHeld} AND w.sequence = c.leased_sequence AND w.status = 'enabled'`,
      },
      () => [],
    ),

    /** Stores deliveries and the cursor after their events. `pending`: the number of earlier pending deliveries. */
    save: grouped<Portion, { readonly pending: number }>(
      {
        name: 'webhooks-save',
        text: `WITH ${locked},
               moved AS (
                 UPDATE delivery.cursors c SET cursor = p.cursor
                 FROM unnest($2::text[], $3::bigint[], $4::text[]) AS p (webhook, generation, cursor)
                 JOIN held USING (webhook, generation) WHERE c.webhook = p.webhook),
               inserted AS (
                 INSERT INTO delivery.deliveries
                   (id, webhook, created_at, types, count, status, next_attempt_at, body)
                 SELECT d.id, webhook, clock_timestamp(), string_to_array(d.types, ','), d.count, 'pending',
                   clock_timestamp() + interval '${firstAttemptSeconds} seconds', d.body
                 FROM unnest($5::text[], $6::bigint[], $7::uuid[], $8::text[], $9::integer[], $10::text[])
                   AS d (webhook, generation, id, types, count, body) JOIN held USING (webhook, generation))
               SELECT webhook AS id, generation, (SELECT count(*) FROM delivery.deliveries d
                 WHERE d.webhook = held.webhook AND status = 'pending') AS pending FROM held`,
      },
      (portions) => {
        const rows = portions.flatMap(({ id, generation, deliveries }) =>
          deliveries.map((delivery) => ({
            ...{ ...delivery, webhook: id, generation, types: delivery.types.join() },
          })),
        );
        const fields = ['webhook', 'generation', 'id', 'types', 'count', 'body'] as const;
        return [portions.map(({ cursor }) => cursor), ...valuesByField(rows, ...fields)];
      },
      ({ deliveries }) =>
        deliveries.reduce((sum, { body }) => sum + body.length, maxGroupBytes / maxGroup),
    ),

    /**
     * Records an attempt, unless another one has ended the delivery meanwhile. `failingSince`: since when deliveries of the
     * webhook fail; `null` after a success.
     */
    record: grouped<RecordedAttempt, { readonly failingSince: Date | null }>(
      {
        name: 'webhooks-attempt',
        text: `WITH ${locked},
               attempted AS (
                 UPDATE delivery.deliveries d SET status = a.status, next_attempt_at = a.next_attempt_at,
                   attempts = CASE WHEN jsonb_array_length(d.attempts) < ${maxStoredAttempts}
                     THEN d.attempts ELSE d.attempts - 0 END || a.attempt,
                   body = CASE WHEN a.status <> 'delivered' OR octet_length(d.body) <= ${maxStoredBody}
                     THEN d.body END
                 FROM unnest($2::text[], $3::bigint[], $4::uuid[], $5::jsonb[], $6::text[], $7::timestamptz[])
                   AS a (webhook, generation, id, attempt, status, next_attempt_at)
                 JOIN held USING (webhook, generation)
                 WHERE d.id = a.id AND d.webhook = a.webhook AND d.status = 'pending'
                 RETURNING d.webhook, d.status, (a.attempt ->> 'at')::timestamptz AS at),
               outcomes AS (
                 SELECT webhook, bool_or(status = 'delivered') AS "isDelivered", min(at) AS at
                 FROM attempted GROUP BY webhook)
               UPDATE delivery.cursors c
               SET failing_since = CASE WHEN o.webhook IS NULL THEN c.failing_since
                 WHEN NOT o."isDelivered" THEN coalesce(c.failing_since, o.at) END
               FROM held LEFT JOIN outcomes o USING (webhook) WHERE c.webhook = held.webhook
               RETURNING c.webhook AS id, c.generation, c.failing_since AS "failingSince"`,
      },
      (attempts) => valuesByField(attempts, 'delivery', 'attempt', 'status', 'nextAttemptAt'),
    ),

    /**
     * The deliveries of this process that are due within `readAheadMs`. The recursive query visits only webhooks with
     * pending deliveries, so that it costs nothing while all receivers respond.
     *
     * @param busy webhooks to skip
     */
    async readDue(busy: readonly string[]): Promise<readonly DueDelivery[]> {
      const { rows } = await pool.query<DueDelivery>({
        name: 'webhooks-due',
        text: `WITH RECURSIVE waiting AS (
                 (SELECT webhook FROM delivery.deliveries WHERE status = 'pending' ORDER BY webhook LIMIT 1)
                 UNION ALL
                 SELECT (SELECT d.webhook FROM delivery.deliveries d
                         WHERE d.status = 'pending' AND d.webhook > waiting.webhook ORDER BY d.webhook LIMIT 1)
                 FROM waiting WHERE webhook IS NOT NULL)
               SELECT c.webhook, d.* FROM waiting JOIN delivery.cursors c USING (webhook)
               CROSS JOIN LATERAL (
                 SELECT id, body, jsonb_array_length(attempts) AS attempts,
                   extract(epoch FROM next_attempt_at - clock_timestamp())::float8 * 1000 AS "dueInMs"
                 FROM delivery.deliveries
                 WHERE webhook = c.webhook AND status = 'pending'
                   AND next_attempt_at <= clock_timestamp() + interval '${readAheadMs} milliseconds'
                 ORDER BY next_attempt_at, id
                 LIMIT CASE WHEN c.failing_since IS NULL THEN ${maxDue.webhook} ELSE 1 END) d
               WHERE c.owner = $1 AND c.webhook <> ALL ($2::text[]) LIMIT ${maxDue.all}`,
        values: [owner, busy],
      });
      return rows;
    },

    /** Stops a webhook whose cursor is not of this log. */
    async stop({ id, generation }: Lease, reason: string): Promise<void> {
      await pool.query(
        `UPDATE delivery.cursors SET stopped_reason = $4 WHERE owner = $1 AND webhook = $2 AND generation = $3`,
        [owner, id, generation, reason],
      );
    },
  };
};

export type DeliveryStore = ReturnType<typeof openStore>;

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
