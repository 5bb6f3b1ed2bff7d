import type { Context } from 'koa';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Scope } from '../../schemas/scopes.js';
import { findLiveSessions } from '../console/server/console-sessions.js';
import type { V2State } from './admitted-call.js';
import { findLiveScopes } from './live-keys.js';

/** Whose key, role or session a long response depends on. */
export interface Caller {
  /** See `principalOf`; `null`: an operator. */
  readonly keyHash: string | null;
  /** The session of a console; `null`: none. */
  readonly sessionHash: Buffer | null;
}

/** Long responses look this often whether they may continue (ms). */
export const checkMs = 500;

export const callerIn = (ctx: Context): Caller => {
  const { keyHash, sessionHash } = ctx.state as Partial<V2State>;
  return { keyHash: keyHash ?? null, sessionHash: sessionHash ?? null };
};

/** Finds which callers may continue: those with the scope, and with a live session if they have one. */
export const findLiveCallers = async (
  pool: Pool,
  callers: readonly Caller[],
  scope: Scope,
): Promise<(caller: Caller) => boolean> => {
  const hashes = [...new Set(callers.flatMap(({ keyHash }) => keyHash ?? []))];
  const [scopes, sessions] = await Promise.all([
    findLiveScopes(pool, hashes),
    findLiveSessions(
      pool,
      callers.flatMap(({ sessionHash }) => sessionHash ?? []),
    ),
  ]);
  return ({ keyHash, sessionHash }) =>
    (keyHash === null || scopes.get(keyHash)?.includes(scope) === true) &&
    (!sessionHash || sessions.has(sessionHash.toString('hex')));
};
