import { scopesColumn } from '../../../ops/ledger/api-keys.js';
import type { Queryable } from '../../../ops/platform/postgres/pool.js';
import type { ConsoleKey } from '../../../schemas/http/console.js';
import { principalOf } from '../../../ops/ledger/principals.js';
import { isLivePrincipal, liveKeys } from '../../admission/live-keys.js';
import { hashToken, newToken } from './console-sessions.js';

export interface KeyOfSecret extends ConsoleKey {
  /** SHA-256. */
  readonly secretHash: Buffer;
}

type Row = ConsoleKey['key'] & Pick<KeyOfSecret, 'secretHash' | 'account'>;

const columns = `s.hash AS "secretHash", k.account, k.id, k.name, r.plan, ${scopesColumn}`;

const keyOf = ({ secretHash, account, ...key }: Row): KeyOfSecret => ({ secretHash, account, key });

/** The active key of a secret, or the person of a role; `null` if there is none. @param hash SHA-256, or `roleHash` */
export const findKeyBySecret = async (
  client: Queryable,
  hash: Buffer,
): Promise<KeyOfSecret | null> => {
  const { rows } = await client.query<Omit<Row, 'secretHash'>>({
    name: 'console-key-find',
    text: `SELECT k.account, k.id, k.name, k.plan, k.scopes FROM ${principalOf('$1::bytea')} k
           WHERE ${isLivePrincipal}`,
    values: [hash],
  });
  return rows[0] ? keyOf({ ...rows[0], secretHash: hash }) : null;
};

const isFresh = `made_at > clock_timestamp() - interval '10 minutes'`;

/**
 * Creates a one-time token of the console for a key, by default the oldest root key. It is valid for 10 minutes, and only
 * its hash is stored. Ids are in the order of creation: the keys are checked in this order, up to the first live root.
 *
 * @returns `null` if no such key is active
 */
export const createConsoleToken = async (
  client: Queryable,
  keyId: string | null,
): Promise<(KeyOfSecret & { readonly token: string }) | null> => {
  const token = newToken();
  const { rows } = await client.query<Row>({
    name: 'console-address-make',
    text: `
      WITH expired AS (DELETE FROM ledger.console_addresses WHERE NOT (${isFresh})),
      chosen AS (
        SELECT ${columns} FROM ${liveKeys} AND s.ends_at IS NULL AND k.id = coalesce($2,
          (SELECT o.id FROM ledger.api_keys o
           WHERE (SELECT k.id = r.id FROM ${liveKeys} AND s.ends_at IS NULL AND k.id = o.id LIMIT 1)
           ORDER BY o.id LIMIT 1))
        LIMIT 1
      ),
      inserted AS (
        INSERT INTO ledger.console_addresses (token_hash, secret_hash, made_at)
        SELECT $1, "secretHash", clock_timestamp() FROM chosen
      )
      SELECT * FROM chosen`,
    values: [hashToken(token), keyId],
  });
  return rows[0] ? { ...keyOf(rows[0]), token } : null;
};

/** The token is a fragment, which browsers do not send to servers. */
export const consoleAddress = (consoleUrl: string, token: string): string =>
  `${consoleUrl}#t=${token}`;

/** The key of a one-time token; `null` if the token is invalid. @param take whether to consume the token */
export const findKeyByToken = async (
  client: Queryable,
  token: string,
  take: boolean,
): Promise<KeyOfSecret | null> => {
  const hash = hashToken(token);
  if (!hash) return null;
  const { rows } = await client.query<{ secretHash: Buffer }>(
    take
      ? `DELETE FROM ledger.console_addresses WHERE token_hash = $1 AND ${isFresh}
         RETURNING secret_hash AS "secretHash"`
      : `SELECT secret_hash AS "secretHash" FROM ledger.console_addresses
         WHERE token_hash = $1 AND ${isFresh}`,
    [hash],
  );
  return rows[0] ? findKeyBySecret(client, rows[0].secretHash) : null;
};
