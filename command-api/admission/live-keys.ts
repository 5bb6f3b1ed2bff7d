import { scopesColumn } from '../../ops/ledger/api-keys.js';
import type { Queryable } from '../../ops/platform/postgres/pool.js';
import type { Scope } from '../../schemas/scopes.js';

/** The live keys, `k`, with their live secrets, `s`, and their roots, `r`. */
export const liveKeys = `ledger.key_secrets s
  JOIN ledger.api_keys k ON k.id = s.key_id AND k.status = 'active'
  JOIN ledger.api_keys r ON r.id = k.root_id AND r.status = 'active'
  WHERE coalesce(clock_timestamp() < least(s.ends_at, k.expires_at, r.expires_at), true)`;

/** The scopes of live keys, by the hash of the secret: SHA-256, hexadecimal. */
export const findLiveScopes = async (
  postgres: Queryable,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, readonly Scope[]>> => {
  const { rows } = await postgres.query<{ hash: string; scopes: readonly Scope[] }>({
    name: 'keys-live-scopes',
    text: `SELECT encode(s.hash, 'hex') AS hash, ${scopesColumn} FROM ${liveKeys}
           AND s.hash IN (SELECT decode(hash, 'hex') FROM unnest($1::text[]) AS hashes (hash))`,
    values: [hashes],
  });
  return new Map(rows.map(({ hash, scopes }) => [hash, scopes]));
};
