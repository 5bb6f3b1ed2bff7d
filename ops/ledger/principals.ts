import { scopesColumn } from './api-keys.js';
import { scopesOf } from './people.js';

const isLive = (key: string): string =>
  `${key}.status = 'active' AND coalesce(${key}.expires_at > clock_timestamp(), true)`;

/**
 * An SQL expression for FROM: the principals with a hash, at most one. The columns are those of `Principal`, and the
 * earliest end of the secret, the key and its root, which the caller compares with its clock.
 *
 * @param hash SQL: SHA-256 of a secret, or a `roleHash`
 */
export const principalOf = (hash: string): string => `LATERAL (
  SELECT k.id, k.root_id AS "rootId", k.name, r.plan, k.account, ${scopesColumn},
         k.last_used_at AS "lastUsedAt", least(s.ends_at, k.expires_at, r.expires_at) AS "endsAt"
  FROM ledger.key_secrets s
  JOIN ledger.api_keys k ON k.id = s.key_id AND k.status = 'active'
  JOIN ledger.api_keys r ON r.id = k.root_id AND r.status = 'active'
  WHERE s.hash = ${hash}
  UNION ALL
  SELECT p.id, r.id, coalesce(p.name, p.id), r.plan, o.account, ${scopesOf('o.role')}, NULL, r.expires_at
  FROM ledger.roles o
  JOIN ledger.people p ON p.id = o.person_id
  JOIN LATERAL (
    SELECT k.id, k.plan, k.expires_at FROM ledger.api_keys k
    WHERE k.account = o.account AND k.ancestors = '{}' AND ${isLive('k')} ORDER BY k.id LIMIT 1
  ) r ON true
  WHERE o.hash = ${hash} AND o.account <> ''
)`;
