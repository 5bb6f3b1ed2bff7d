import { principalOf } from '../../ops/ledger/principals.js';
import type { Queryable } from '../../ops/platform/postgres/pool.js';
import type { PlanName } from '../../schemas/plans.js';
import type { Scope } from '../../schemas/scopes.js';

/** The live keys, `k`, with their live secrets, `s`, and their roots, `r`. */
export const liveKeys = `ledger.key_secrets s
  JOIN ledger.api_keys k ON k.id = s.key_id AND k.status = 'active'
  JOIN ledger.api_keys r ON r.id = k.root_id AND r.status = 'active'
  WHERE coalesce(clock_timestamp() < least(s.ends_at, k.expires_at, r.expires_at), true)`;

/** Whether the principal `k` has not ended. */
export const isLivePrincipal = `coalesce(clock_timestamp() < k."endsAt", true)`;

/** The scopes of live principals, by the hash of the secret: SHA-256, hexadecimal. */
export const findLiveScopes = async (
  postgres: Queryable,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, readonly Scope[]>> => {
  const { rows } = await postgres.query<{ hash: string; scopes: readonly Scope[] }>({
    name: 'keys-live-scopes',
    text: `SELECT a.hash, k.scopes FROM unnest($1::text[]) AS a (hash)
           JOIN ${principalOf("decode(a.hash, 'hex')")} k ON ${isLivePrincipal}`,
    values: [hashes],
  });
  return new Map(rows.map(({ hash, scopes }) => [hash, scopes]));
};

/** The root of a live key; `null` if the key is not live. */
export const findLiveRoot = async (
  postgres: Queryable,
  keyId: string,
): Promise<{ readonly rootId: string; readonly plan: PlanName } | null> => {
  const { rows } = await postgres.query<{ rootId: string; plan: PlanName }>({
    name: 'keys-live-root',
    text: `SELECT r.id AS "rootId", r.plan FROM ${liveKeys} AND k.id = $1 LIMIT 1`,
    values: [keyId],
  });
  return rows[0] ?? null;
};
