import type { ApiKeyEvent } from '../../schemas/events/catalogue.js';
import { evolveApiKey, noKey, type ApiKey, type ApiKeyState } from '../../schemas/folds/api-key.js';
import type { Client } from '../platform/postgres/pool.js';
import type { LedgerSchema, LedgerState } from './decide.js';

export type KnownKey = Exclude<ApiKeyState, { readonly status: 'none' }>;

/** A row of `ledger.api_keys`, as `keyColumns` names its columns. */
export type KeyRow = ApiKey & Pick<KnownKey, 'status'>;

export const keyColumns = `k.id, encode(k.hash, 'hex') AS hash, k.name, k.plan, k.account, k.status,
  k.created_at AS "createdAt", k.sequence, k.last_event_at AS "lastEventAt"`;

export const apiKeyOfRow = ({ status, ...key }: KeyRow): KnownKey => ({ status, key });

/** Takes the keys' rows, in the order of their ids, until the transaction ends. */
export const lockKeys = async (
  tx: Client,
  ids: readonly string[],
  schema: LedgerSchema = 'ledger',
): Promise<ReadonlyMap<string, KnownKey>> => {
  const { rows } = await tx.query<KeyRow>(
    `SELECT ${keyColumns} FROM ${schema}.api_keys k WHERE id = ANY ($1::text[])
     ORDER BY id FOR NO KEY UPDATE`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, apiKeyOfRow(row)]));
};

/** Writes a key, new or locked by the transaction; a new one gets its meter. */
export const saveKey = async (
  tx: Client,
  { status, key }: KnownKey,
  schema: LedgerSchema = 'ledger',
): Promise<void> => {
  await tx.query(
    `INSERT INTO ${schema}.api_keys
       (id, hash, name, plan, account, status, created_at, sequence, last_event_at)
     VALUES ($1, decode($2, 'hex'), $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT (id) DO UPDATE SET name = excluded.name, plan = excluded.plan,
       status = excluded.status, sequence = excluded.sequence,
       last_event_at = excluded.last_event_at`,
    [
      key.id,
      key.hash,
      key.name,
      key.plan,
      key.account,
      status,
      key.createdAt,
      key.sequence,
      key.lastEventAt,
    ],
  );
  await tx.query(`INSERT INTO ${schema}.key_meters (key_id) VALUES ($1) ON CONFLICT DO NOTHING`, [
    key.id,
  ]);
};

export const apiKeys: LedgerState<ApiKeyState, ApiKeyEvent> = {
  initial: noKey,
  lock: lockKeys,
  evolve: evolveApiKey,
  async save(tx, states) {
    for (const state of states.values()) if (state.status !== 'none') await saveKey(tx, state);
  },
};
