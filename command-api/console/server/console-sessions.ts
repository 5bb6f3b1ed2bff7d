import { createHash, randomBytes } from 'node:crypto';
import type { Pool, Queryable } from '../../../ops/platform/postgres/pool.js';

/** What a session is good for, and what it ends with. */
export interface ConsoleSession {
  /** A hash of the secret that began it. */
  readonly boundTo: Buffer;
  /** An operator's name; `null` on the API's listener. */
  readonly actor: string | null;
}

const tokenPattern = /^[A-Za-z0-9_-]{43}$/;

/** 256 random bits, as a cookie or the fragment of an address holds them. */
export const newToken = (): string => randomBytes(32).toString('base64url');

/** All that is kept of a token; `null` for what can be none, so that it costs no look-up. */
export const hashToken = (token: string): Buffer | null =>
  tokenPattern.test(token) ? createHash('sha256').update(token).digest() : null;

/** Ends with 12 hours without use, or after 7 days. */
const isLive = `used_at > clock_timestamp() - interval '12 hours'
  AND began_at > clock_timestamp() - interval '7 days'`;

/** For each secret; for all operators, whose sessions share one. Beyond it, the least used one ends. */
const maxSessions = 100;

export type ConsoleSessions = ReturnType<typeof createConsoleSessions>;

/** The sessions of one listener's console: no other listener takes them. */
export const createConsoleSessions = (pool: Pool, listener: 'api' | 'admin') => ({
  /** Begins a session; its token is kept nowhere. */
  async begin(
    client: Queryable,
    { boundTo, actor }: ConsoleSession,
    token = newToken(),
  ): Promise<string> {
    await client.query({
      name: 'console-session-begin',
      text: `
        WITH surplus AS (
          -- Concurrent sign-ins with one secret would wait for each other's deletions: a deadlock.
          DELETE FROM ledger.console_sessions WHERE token_hash IN (
            SELECT token_hash FROM ledger.console_sessions WHERE token_hash IN (
              SELECT token_hash FROM ledger.console_sessions
              WHERE listener = $2 AND (bound_to = $3 OR listener = 'admin')
              ORDER BY used_at DESC OFFSET $5)
            FOR UPDATE SKIP LOCKED)
        )
        INSERT INTO ledger.console_sessions (token_hash, listener, bound_to, actor, began_at, used_at)
        SELECT $1, $2, $3, $4, now, now FROM (SELECT clock_timestamp() AS now) clock`,
      values: [hashToken(token), listener, boundTo, actor, maxSessions - 1],
    });
    return token;
  },

  /** The session of a token, if it has not ended by itself; notes its use, once a minute. */
  async find(token: string): Promise<ConsoleSession | null> {
    const hash = hashToken(token);
    if (!hash) return null;
    const { rows } = await pool.query<ConsoleSession>({
      name: 'console-session-find',
      text: `
        WITH used AS (
          UPDATE ledger.console_sessions SET used_at = clock_timestamp()
          WHERE token_hash = $1 AND listener = $2 AND ${isLive}
            AND used_at < clock_timestamp() - interval '1 minute'
        )
        SELECT bound_to AS "boundTo", actor FROM ledger.console_sessions
        WHERE token_hash = $1 AND listener = $2 AND ${isLive}`,
      values: [hash, listener],
    });
    return rows[0] ?? null;
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

/** Deletes sessions that have ended by themselves; returns how many. */
export const forgetSessions = async (client: Queryable): Promise<number> => {
  const { rowCount } = await client.query(
    `DELETE FROM ledger.console_sessions WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM ledger.console_sessions WHERE NOT (${isLive}) LIMIT 5000))`,
  );
  return rowCount ?? 0;
};
