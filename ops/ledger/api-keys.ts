import type { ApiKeyEvent } from '../../schemas/events/catalogue.js';
import type { ApiKey, ApiKeyState } from '../../schemas/folds/api-key.js';
import { scopeNames, storedScopes } from '../../schemas/scopes.js';
import type { Client } from '../platform/postgres/pool.js';
import type { Statement } from '../platform/postgres/statement.js';
import type { LedgerRows, LedgerSchema } from './decide.js';
import { upsert } from './rows.js';

export type KnownKey = Exclude<ApiKeyState, { readonly status: 'none' }>;

/** A row of `keyColumns`. */
export type KeyRow = Omit<ApiKey, 'secrets'> &
  Pick<KnownKey, 'status'> & { readonly secrets: Readonly<Record<string, string | null>> };

/** The scopes of a row `k` of `api_keys`; see `storedScopes`. */
export const scopesColumn = `coalesce(k.scopes, '{${scopeNames.join()}}') AS scopes`;

/** Columns of a row `k` of `api_keys`. */
export const keyColumns = (schema: LedgerSchema = 'ledger'): string => `
  k.id, k.name, k.plan, k.account, ${scopesColumn}, k.expires_at AS "expiresAt", k.ancestors, k.status,
  k.deactivated_by AS "deactivatedBy", k.created_by AS "createdBy",
  (SELECT jsonb_object_agg(encode(s.hash, 'hex'), s.ends_at)
   FROM ${schema}.key_secrets s WHERE s.key_id = k.id) AS secrets,
  k.created_at AS "createdAt", k.sequence, k.last_event_at AS "lastEventAt"`;

export const apiKeyOfRow = ({ status, secrets, ...key }: KeyRow): KnownKey => {
  const ends = Object.entries(secrets).map(([hash, endsAt]) => [
    hash,
    endsAt === null ? null : new Date(endsAt),
  ]);
  return { status, key: { ...key, secrets: Object.fromEntries(ends) as ApiKey['secrets'] } };
};

/** Locks the keys in the order of their ids. */
export const lockKeys = async (
  tx: Client,
  ids: readonly string[],
  schema: LedgerSchema = 'ledger',
): Promise<ReadonlyMap<string, KnownKey>> => {
  await tx.query(
    `SELECT FROM ${schema}.api_keys WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE`,
    [ids],
  );
  // A separate statement, which sees the secrets after the keys are locked.
  const { rows } = await tx.query<KeyRow>(
    `SELECT ${keyColumns(schema)} FROM ${schema}.api_keys k WHERE id = ANY ($1::text[])`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, apiKeyOfRow(row)]));
};

/** Writes a new or locked key, and creates the meter of a root key. */
const saveKey = ({ status, key }: KnownKey, schema: LedgerSchema): readonly Statement[] => {
  const { secrets: ends, ...terms } = key;
  const hashes = Object.keys(ends).map((hash) => Buffer.from(hash, 'hex'));
  const row = { ...terms, scopes: storedScopes(key.scopes), status };
  const saved = upsert(`${schema}.api_keys`, 'id', row);
  const secrets: readonly Statement[] = [
    {
      text: `DELETE FROM ${schema}.key_secrets WHERE key_id = $1 AND hash <> ALL ($2::bytea[])`,
      values: [key.id, hashes],
    },
    {
      text: `INSERT INTO ${schema}.key_secrets (key_id, hash, ends_at)
             SELECT $1, hash, ends_at FROM unnest($2::bytea[], $3::timestamptz[]) AS i (hash, ends_at)
             ON CONFLICT (key_id, hash) DO UPDATE SET ends_at = excluded.ends_at`,
      values: [key.id, hashes, Object.values(ends)],
    },
  ];
  const meter: Statement = {
    text: `INSERT INTO ${schema}.key_meters (key_id) VALUES ($1) ON CONFLICT DO NOTHING`,
    values: [key.id],
  };
  return [saved, ...secrets, ...(key.ancestors.length > 0 ? [] : [meter])];
};

export const apiKeys: LedgerRows<ApiKeyState, ApiKeyEvent> = {
  lock: lockKeys,
  save: (states, schema = 'ledger') =>
    [...states.values()].flatMap((state) =>
      state.status === 'none' ? [] : saveKey(state, schema),
    ),
};
