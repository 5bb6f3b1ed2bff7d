import type { Client } from '../../ops/platform/postgres/pool.js';
import type { RedirectRow } from '../../schemas/read-models/redirects.js';
import type { ProjectionSchema } from '../runtime/names.js';

const columns = `code, status, expired, url, account, created_at, expires_at, max_clicks,
  password_hash, sequence`;

export const readRows = async (
  tx: Client,
  schema: ProjectionSchema,
  codes: readonly string[],
): Promise<ReadonlyMap<string, RedirectRow>> => {
  const { rows } = await tx.query<RedirectRow>(
    `SELECT ${columns} FROM ${schema}.links WHERE code = ANY ($1::text[])`,
    [codes],
  );
  return new Map(rows.map((row) => [row.code, row]));
};

/** Writes rows whole, new or not. */
export const writeRows = async (
  tx: Client,
  schema: ProjectionSchema,
  rows: readonly RedirectRow[],
): Promise<void> => {
  if (rows.length === 0) return;
  await tx.query(
    `INSERT INTO ${schema}.links (${columns})
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[],
       $6::timestamptz[], $7::timestamptz[], $8::integer[], $9::text[], $10::bigint[])
     ON CONFLICT (code) DO UPDATE SET
       status = excluded.status,
       expired = excluded.expired,
       url = excluded.url,
       account = excluded.account,
       created_at = excluded.created_at,
       expires_at = excluded.expires_at,
       max_clicks = excluded.max_clicks,
       password_hash = excluded.password_hash,
       sequence = excluded.sequence`,
    [
      rows.map((row) => row.code),
      rows.map((row) => row.status),
      rows.map((row) => row.expired),
      rows.map((row) => row.url),
      rows.map((row) => row.account),
      rows.map((row) => row.created_at.toISOString()),
      rows.map((row) => row.expires_at?.toISOString() ?? null),
      rows.map((row) => row.max_clicks),
      rows.map((row) => row.password_hash),
      rows.map((row) => row.sequence),
    ],
  );
};
