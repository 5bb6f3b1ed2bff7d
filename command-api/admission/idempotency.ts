import { createHash } from 'node:crypto';
import type { z } from 'zod';
import type { LedgerClock } from '../../ops/ledger/clock.js';
import type { Outbox, OutboxDelivery } from '../../ops/event-log/outbox/port.js';
import { type Pool, valuesByField, type Queryable } from '../../ops/platform/postgres/pool.js';
import { topics } from '../../schemas/events/topics.js';
import type { BatchResponse } from '../../schemas/http/batch.js';
import { messages } from '../../schemas/http/errors.js';
import { responseOfOutline, type BatchOutline } from '../links/create/view.js';
import { noteIgnoredFields } from '../http/ignored-fields.js';
import { failure, json, unavailable, type Reply } from '../http/reply.js';
import { parseJson, type Handler } from '../http/requests.js';
import type { V2State } from './admitted-call.js';
import type { EventNamed, LinklogEvent } from '../../schemas/events/catalogue.js';
import { readEvent } from '../../schemas/events/codec.js';
import {
  accountsPartition,
  eventOfRow,
  type HistoryRow,
} from '../../schemas/read-models/history.js';
import type { Statement } from '../../ops/platform/postgres/statement.js';

/** The scope of an Idempotency-Key: one API key, one path. */
export interface IdempotencyScope {
  readonly keyId: string;
  readonly path: string;
  readonly idempotencyKey: string;
}

export interface IdempotentRequest {
  readonly scope: IdempotencyScope;
  /** SHA-256 of the request body. */
  readonly bodyHash: Buffer;
}

/** The first successful response to a request. */
export interface IdempotencyRecord extends IdempotencyScope {
  readonly bodyHash: Buffer;
  readonly status: number;
  /** JSON: the body of the response or, if that is longer than `maxRecordBytes`, its `BatchOutline`. */
  readonly body: string;
  readonly isOutline: boolean;
  /** The links that the request created or reused. */
  readonly subjects: readonly string[];
}

/** Maximum of `body`. The response to a batch can have 0.5 MB, for one call. */
export const maxRecordBytes = 65_536;

/** The records of the scopes, in their order; `null` for a scope without a record. */
export const findRecords = async (
  client: Queryable,
  scopes: readonly (IdempotencyScope | null)[],
  clock: LedgerClock,
): Promise<readonly (IdempotencyRecord | null)[]> => {
  if (scopes.every((scope) => scope === null)) return scopes.map(() => null);
  const { rows } = await client.query<IdempotencyRecord & { position: number }>({
    name: 'idempotency-find',
    text: `SELECT s.position, key_id AS "keyId", path, idempotency_key AS "idempotencyKey",
                  i.body_hash AS "bodyHash", i.status, i.response AS body, i.is_outline AS "isOutline",
                  i.subjects
           FROM unnest($1::text[], $2::text[], $3::text[])
             WITH ORDINALITY AS s (key_id, path, idempotency_key, position)
           JOIN ledger.idempotency i USING (key_id, path, idempotency_key)
           WHERE i.created_at > least(clock_timestamp(), $4::timestamptz) - interval '24 hours'`,
    values: [
      scopes.map((scope) => scope?.keyId),
      scopes.map((scope) => scope?.path),
      scopes.map((scope) => scope?.idempotencyKey),
      clock.upperBound(),
    ],
  });
  const found = new Map(rows.map(({ position, ...record }) => [position, record]));
  return scopes.map((_, index) => found.get(index + 1) ?? null);
};

/** Stores records in the deciding transaction, under its locks. Replaces expired records. */
export const saveRecords = (
  records: readonly IdempotencyRecord[],
  now: Date,
): readonly Statement[] => {
  if (records.length === 0) return [];
  const saved: Statement = {
    name: 'idempotency-save',
    text: `INSERT INTO ledger.idempotency
             (key_id, path, idempotency_key, body_hash, status, response, is_outline, subjects, created_at)
           SELECT key_id, path, idempotency_key, body_hash, status, response, is_outline,
                  string_to_array(subjects, ','), $9
           FROM unnest($1::text[], $2::text[], $3::text[], $4::bytea[], $5::smallint[], $6::text[],
             $7::boolean[], $8::text[])
             AS a (key_id, path, idempotency_key, body_hash, status, response, is_outline, subjects)
           ON CONFLICT (key_id, path, idempotency_key) DO UPDATE
             SET body_hash = excluded.body_hash, status = excluded.status,
                 response = excluded.response, is_outline = excluded.is_outline,
                 subjects = excluded.subjects, created_at = excluded.created_at`,
    values: [
      ...valuesByField(records, 'keyId', 'path', 'idempotencyKey', 'bodyHash', 'status', 'body'),
      ...valuesByField(records, 'isOutline'),
      // PostgreSQL cannot unnest an array of arrays by one level. No code contains a comma.
      records.map(({ subjects }) => subjects.join(',')),
      now,
    ],
  };
  return [saved];
};

/** Deletes at most 5,000 records that are older than 24 hours; returns their number. */
export const deleteExpiredRecords = async (
  client: Queryable,
  clock: LedgerClock,
): Promise<number> => {
  const { rowCount } = await client.query(
    `DELETE FROM ledger.idempotency WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM ledger.idempotency
       WHERE created_at < least(clock_timestamp(), $1::timestamptz) - interval '24 hours' LIMIT 5000))`,
    [clock.upperBound()],
  );
  return rowCount ?? 0;
};

/** The schema of the event requires a password hash, and the history stores none. */
const withoutPassword = (row: HistoryRow): HistoryRow => ({
  ...row,
  data: JSON.stringify({ ...(JSON.parse(row.data) as object), passwordHash: null }),
});

/**
 * The events that created links, by short subject, without password hashes. Reads the history projection, and the outbox
 * for links that are not projected yet. Omits subjects without such an event.
 */
const readCreatedLinks = async (
  pool: Pool,
  outbox: Outbox,
  subjects: readonly string[],
): Promise<ReadonlyMap<string, EventNamed<'LinkCreated'>>> => {
  const created = new Map<string, EventNamed<'LinkCreated'>>();
  const add = (event: LinklogEvent): void => {
    if (event.type === 'linklog.LinkCreated.v4') created.set(event.subject, event);
  };
  const { rows } = await pool.query<HistoryRow>({
    name: 'history-created',
    text: `SELECT subject, sequence, time, id, type, account, actor, correlationid, causationid,
             traceparent, client, data
           FROM projection_history.events WHERE subject = ANY ($1::text[]) AND sequence = 1
             AND partition < ${accountsPartition}`,
    values: [subjects],
  });
  for (const row of rows) add(readEvent(eventOfRow(withoutPassword(row))));
  const missing = subjects.filter((subject) => !created.has(subject));
  const known = missing.map((subject) => ({ subject, sequence: 0 }));
  if (known.length === 0) return created;
  for (const event of await outbox.after(pool, topics.links.name, known)) add(event);
  return created;
};

const maxKeyLength = 255;
/** A stored 200 of this path is a reused link. */
const shortenPath = '/v2/shorten';

export const reusedHeader = { 'Linklog-Reused': 'true' };

/** Handles a POST with its parsed body; `request` is `null` without an Idempotency-Key. */
type PostHandler = (
  json: unknown,
  state: V2State,
  request: IdempotentRequest | null,
) => Promise<Reply>;

interface IdempotencyDeps {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly clock: LedgerClock;
  readonly delivery: OutboxDelivery;
  readonly shortUrlHost: string;
}

/** Replays stored responses, and refuses a request that this process is handling already. */
export const createIdempotency = (deps: IdempotencyDeps) => {
  const { pool, outbox, clock, delivery, shortUrlHost } = deps;
  const inFlight = new Set<string>();

  /**
   * The body of the first response: the same bytes, unless SHORT_URL_HOST has changed. `null` if no event that created
   * one of the links is found.
   */
  const bodyOf = async (
    { body, isOutline, subjects }: IdempotencyRecord,
    requestBody: string,
  ): Promise<string | BatchResponse | null> => {
    if (!isOutline) return body;
    const outline = JSON.parse(body) as BatchOutline;
    // Valid: it has the hash of the first request.
    const { urls } = JSON.parse(requestBody) as { readonly urls: readonly unknown[] };
    const created = await readCreatedLinks(pool, outbox, subjects);
    return responseOfOutline(outline, urls, created, shortUrlHost);
  };

  /** The stored response; 422 if the body of the request differs, 409 until the log has the links. */
  const replay = async (
    record: IdempotencyRecord,
    { bodyHash }: IdempotentRequest,
    requestBody: string,
  ): Promise<Reply> => {
    if (!record.bodyHash.equals(bodyHash)) return failure(422, messages.idempotencyMismatch);
    if (!(await delivery.hasPublishedFirst(topics.links.name, record.subjects))) {
      return failure(409, messages.idempotencyInFlight);
    }
    const body = await bodyOf(record, requestBody);
    if (body === null) return unavailable();
    const isReused = record.status === 200 && record.path === shortenPath;
    return json(record.status, body, {
      'Idempotency-Replayed': 'true',
      ...(isReused && reusedHeader),
    });
  };

  const replayOrRun = async (
    request: IdempotentRequest,
    body: string,
    run: () => Promise<Reply>,
  ): Promise<Reply> => {
    const name = JSON.stringify(request.scope);
    if (inFlight.has(name)) return failure(409, messages.idempotencyInFlight);
    inFlight.add(name);
    try {
      const [record] = await findRecords(pool, [request.scope], clock);
      return await (record ? replay(record, request, body) : run());
    } finally {
      inFlight.delete(name);
    }
  };

  return {
    replay,
    /** The handler of a POST with an optional Idempotency-Key. Also replays name the fields that the schema strips. */
    post(schema: z.ZodType, handle: PostHandler): Handler<V2State> {
      return (ctx, state) => {
        const parsed = parseJson(state.body);
        if (parsed.type === 'read') noteIgnoredFields(state, schema, parsed.value);
        const run = (request: IdempotentRequest | null): Promise<Reply> | Reply =>
          parsed.type === 'read' ? handle(parsed.value, state, request) : parsed.reply;
        const key = ctx.headers['idempotency-key'];
        if (key === undefined) return run(null);
        if (typeof key !== 'string' || key.length > maxKeyLength) {
          return failure(400, messages.idempotencyKey);
        }
        const request = {
          scope: { keyId: state.call.key.id, path: ctx.path, idempotencyKey: key },
          bodyHash: createHash('sha256').update(state.body).digest(),
        };
        return replayOrRun(request, state.body, async () => run(request));
      };
    },
  };
};
