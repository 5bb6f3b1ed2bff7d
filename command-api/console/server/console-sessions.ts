import { createHash, randomBytes } from 'node:crypto';
import type { Pool, Queryable } from '../../../ops/platform/postgres/pool.js';

interface ConsoleSession {
  /** A hash of the secret that started the session. */
  readonly boundTo: Buffer;
  /** An operator's name; `null` on the API's listener. */
  readonly actor: string | null;
  /** The person that signed in; `null`: a key or the admin token did. */
  readonly personId: string | null;
}

interface NewSession extends Omit<ConsoleSession, 'personId'> {
  /** The family of the browser; `null`: unknown. */
  readonly browser: string | null;
  readonly person?: {
    readonly id: string;
    readonly account: string;
    /** The session at the identity provider; `null`: unknown. */
    readonly sid: string | null;
    /** Not stored if it is too long for a URL. */
    readonly idToken: string;
  };
}

/** A live session in a list. */
interface ListedSession {
  readonly id: string;
  readonly browser: string | null;
  readonly actor: string | null;
  readonly startedAt: Date;
  /** Accurate to the minute. */
  readonly usedAt: Date;
  readonly isCurrent: boolean;
}

const tokenPattern = /^[A-Za-z0-9_-]{43}$/;

/** 256 random bits. */
export const newToken = (): string => randomBytes(32).toString('base64url');

/** The stored hash of a token; `null` if the text is not a token. */
export const hashToken = (token: string): Buffer | null =>
  tokenPattern.test(token) ? createHash('sha256').update(token).digest() : null;

/** Characters of an ID token that fits into the URL that ends the session at the provider. */
const maxIdToken = 8_192;

/** Only the browser has the token, so that the database alone does not suffice to decrypt the text. */
const keyOf = (token: string): Buffer => createHash('sha256').update(`encrypt ${token}`).digest();

// Only sessions of people load the library.
const encrypt = async (text: string, token: string): Promise<Buffer> => {
  const { CompactEncrypt } = await import('jose');
  const encryption = new CompactEncrypt(Buffer.from(text));
  encryption.setProtectedHeader({ alg: 'dir', enc: 'A256GCM' });
  return Buffer.from(await encryption.encrypt(keyOf(token)));
};

const decrypt = async (encrypted: Buffer, token: string): Promise<string> => {
  const { compactDecrypt } = await import('jose');
  return Buffer.from((await compactDecrypt(encrypted, keyOf(token))).plaintext).toString();
};

const isLive = `used_at > clock_timestamp() - interval '12 hours'
  AND began_at > clock_timestamp() - interval '7 days'`;

/** The public name of a session: a part of its hash, which does not reveal the token. */
const idColumn = `encode(substring(token_hash FOR 8), 'hex')`;

/** The sessions that the session of $1 may end: those of its key or person, or those of all operators. */
const related = `listener = $2 AND (listener = 'admin' OR bound_to IN (
  SELECT other.hash FROM ledger.console_sessions own
  JOIN ledger.key_secrets secret ON secret.hash = own.bound_to
  JOIN ledger.key_secrets other USING (key_id)
  WHERE own.token_hash = $1)
  OR person_id = (SELECT own.person_id FROM ledger.console_sessions own WHERE own.token_hash = $1))`;

/** Per secret; operators share one. A new session ends the least recently used one. */
const maxSessions = 100;

export type ConsoleSessions = ReturnType<typeof createConsoleSessions>;

/** Records the use of a session, at most once a minute. */
const used = `WITH used AS (
  UPDATE ledger.console_sessions SET used_at = clock_timestamp()
  WHERE token_hash = $1 AND listener = $2 AND ${isLive}
    AND used_at < clock_timestamp() - interval '1 minute'
  RETURNING person_id
), seen AS (
  UPDATE ledger.people p SET last_seen_at = date_trunc('hour', clock_timestamp(), 'UTC')
  FROM used WHERE p.id = used.person_id
    AND coalesce(p.last_seen_at < date_trunc('hour', clock_timestamp(), 'UTC'), true))`;

/** Finds the live session of a token. @param before statements that run first */
const sessionReader =
  (pool: Pool, listener: 'api' | 'admin', acceptsKeys: boolean, name: string, before: string) =>
  async (token: string): Promise<ConsoleSession | null> => {
    const hash = hashToken(token);
    if (!hash) return null;
    const { rows } = await pool.query<ConsoleSession>({
      name,
      text: `${before} SELECT bound_to AS "boundTo", actor, person_id AS "personId"
             FROM ledger.console_sessions
             WHERE token_hash = $1 AND listener = $2 AND ${isLive} AND (person_id IS NOT NULL OR $3)`,
      values: [hash, listener, acceptsKeys],
    });
    return rows[0] ?? null;
  };

/** The sessions of one listener's console. */
export const createConsoleSessions = (
  pool: Pool,
  listener: 'api' | 'admin',
  /** Whether sessions of keys and of the admin token are valid. */
  acceptsKeys = true,
) => ({
  /** The live session of a token. Does not record its use. */
  peek: sessionReader(pool, listener, acceptsKeys, 'console-session-peek', ''),

  /** The live session of a token. Records its use. */
  find: sessionReader(pool, listener, acceptsKeys, 'console-session-find', used),

  /** Starts a session. The token is not stored. */
  async start(
    client: Queryable,
    { boundTo, actor, browser, person }: NewSession,
    token = newToken(),
  ): Promise<string> {
    const { id = null, account = '', sid = null, idToken = '' } = person ?? {};
    const isStored = idToken !== '' && idToken.length <= maxIdToken;
    await client.query({
      name: 'console-session-begin',
      text: `
        WITH surplus AS (
          -- Without SKIP LOCKED, concurrent sign-ins with one secret deadlock.
          DELETE FROM ledger.console_sessions WHERE token_hash IN (
            SELECT token_hash FROM ledger.console_sessions WHERE token_hash IN (
              SELECT token_hash FROM ledger.console_sessions
              WHERE listener = $2 AND (bound_to = $3 OR listener = 'admin')
              ORDER BY used_at DESC OFFSET $5)
            FOR UPDATE SKIP LOCKED)
        ), person AS (
          UPDATE ledger.people SET last_seen_at = date_trunc('hour', clock_timestamp(), 'UTC'),
            last_account = coalesce(nullif($10, ''), last_account) WHERE id = $7
        )
        INSERT INTO ledger.console_sessions
          (token_hash, listener, bound_to, actor, browser, began_at, used_at, person_id, sid, id_token)
        SELECT $1, $2, $3, $4, $6, now, now, $7, $8, $9 FROM (SELECT clock_timestamp() AS now) clock`,
      values: [
        ...[hashToken(token), listener, boundTo, actor, maxSessions - 1, browser],
        ...[id, sid, isStored ? await encrypt(idToken, token) : null, account],
      ],
    });
    return token;
  },

  /** Moves the session of a person to another account, in which it has a role. */
  async switchAccount(token: string, boundTo: Buffer, account: string): Promise<void> {
    await pool.query({
      name: 'console-session-switch',
      text: `
        WITH switched AS (
          UPDATE ledger.console_sessions SET bound_to = $2 WHERE token_hash = $1 RETURNING person_id
        )
        UPDATE ledger.people p SET last_account = $3 FROM switched WHERE p.id = switched.person_id`,
      values: [hashToken(token), boundTo, account],
    });
  },

  /** The ID token with which the session of a person began; `null`: none. */
  async idTokenOf(token: string): Promise<string | null> {
    const { rows } = await pool.query<{ idToken: Buffer | null }>({
      name: 'console-session-id-token',
      text: `SELECT id_token AS "idToken" FROM ledger.console_sessions
             WHERE token_hash = $1 AND listener = $2`,
      values: [hashToken(token), listener],
    });
    const encrypted = rows[0]?.idToken ?? null;
    return encrypted && decrypt(encrypted, token);
  },

  /** Ends sessions on both listeners: one of the identity provider, or all of a person there. */
  async endOfProvider(
    issuer: string,
    { sid, identity }: { readonly sid: string | null; readonly identity: string | null },
  ): Promise<void> {
    await pool.query(
      `DELETE FROM ledger.console_sessions WHERE sid = $1
         OR person_id = (SELECT id FROM ledger.people WHERE issuer = $2 AND identity = $3)`,
      [sid, issuer, identity],
    );
  },

  /** The live sessions that the session of a token may end, the last used first. */
  async list(token: string): Promise<readonly ListedSession[]> {
    const { rows } = await pool.query<ListedSession>({
      name: 'console-session-list',
      text: `SELECT ${idColumn} AS id, browser, began_at AS "startedAt", used_at AS "usedAt",
               token_hash = $1 AS "isCurrent",
               coalesce((SELECT name FROM ledger.people WHERE people.id = actor), actor) AS actor
             FROM ledger.console_sessions WHERE ${related} AND ${isLive}
             ORDER BY used_at DESC, token_hash`,
      values: [hashToken(token), listener],
    });
    return rows;
  },

  /** Ends a listed session, or all of them. Returns the number of ended sessions. */
  async endListed(token: string, id: string | null): Promise<number> {
    const { rowCount } = await pool.query({
      name: 'console-session-end-listed',
      text: `DELETE FROM ledger.console_sessions
             WHERE ${related} AND ($3::text IS NULL OR ${idColumn} = $3)`,
      values: [hashToken(token), listener, id],
    });
    return rowCount ?? 0;
  },

  async end(token: string, client: Queryable = pool): Promise<void> {
    const hash = hashToken(token);
    if (!hash) return;
    await client.query({
      name: 'console-session-end',
      text: 'DELETE FROM ledger.console_sessions WHERE token_hash = $1 AND listener = $2',
      values: [hash, listener],
    });
  },
});

/** The hashes of tokens, hexadecimal, that have a live session. Does not record its use. */
export const findLiveSessions = async (
  client: Queryable,
  hashes: readonly Buffer[],
): Promise<ReadonlySet<string>> => {
  if (hashes.length === 0) return new Set();
  const { rows } = await client.query<{ hash: string }>({
    name: 'console-sessions-live',
    text: `SELECT encode(token_hash, 'hex') AS hash FROM ledger.console_sessions
           WHERE token_hash = ANY ($1::bytea[]) AND ${isLive}`,
    values: [hashes],
  });
  return new Set(rows.map(({ hash }) => hash));
};

/** Deletes expired sessions; returns their number. */
export const deleteExpiredSessions = async (client: Queryable): Promise<number> => {
  const { rowCount } = await client.query(
    `DELETE FROM ledger.console_sessions WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM ledger.console_sessions WHERE NOT (${isLive}) LIMIT 5000))`,
  );
  return rowCount ?? 0;
};
