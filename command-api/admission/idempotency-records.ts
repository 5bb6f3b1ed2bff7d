import type { LedgerClock } from '../../ops/ledger/clock.js';
import { valuesByField, type Queryable } from '../../ops/platform/postgres/pool.js';
import type { Statement } from '../../ops/platform/postgres/statement.js';

/** The scope of an Idempotency-Key: one API key, one path. */
export interface IdempotencyScope {
  readonly keyId: string;
  readonly path: string;
  readonly idempotencyKey: string;
}

/** A request with an Idempotency-Key. */
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
