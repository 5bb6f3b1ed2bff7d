import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';
import type { ProxyTrust } from '../../../ops/http/client-address.js';
import type { Logger } from '../../../ops/platform/logging.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import {
  operatorSignInRequest,
  type ConsoleChanges,
  type OperatorSession,
} from '../../../schemas/http/console.js';
import { messages } from '../../../schemas/http/errors.js';
import { changesOf, platformVersion } from './changes.js';
import { createConsoleSessions, newToken } from './console-sessions.js';
import { withBody, type AdminState } from '../../http/operator-requests.js';
import { actorIn } from '../../http/request-actor.js';
import { json, send, type Reply } from '../../http/reply.js';
import { createDispatcher, type Route } from '../../http/requests.js';
import { unauthorized } from '../../admission/admitted-call.js';
import { createConsole } from './console.js';
import { browserOf, sessionCookie, sessionRoutes } from './session.js';

/** Binds a session to the admin token. The result does not reveal the token. */
const bindingOf = (token: string, adminToken: string): Buffer =>
  createHmac('sha256', token).update(adminToken).digest();

/** The operators' console: /admin with a session instead of the admin token. */
export const operatorsConsole = (
  deps: {
    readonly pool: Pool;
    readonly adminToken: string;
    readonly shortUrlHost: string;
    readonly trustedProxies: ProxyTrust;
    readonly logger: Logger;
    /** `null` for a valid admin token. */
    readonly refusalOf: (ctx: Context, adminToken: string) => Reply | null;
  },
  routes: readonly Route<AdminState>[],
) => {
  const { pool, adminToken, shortUrlHost } = deps;
  const sessions = createConsoleSessions(pool, 'admin');
  const cookie = sessionCookie('linklog_operator', deps.trustedProxies);

  /** `null` without a session. */
  const actorOf = async (ctx: Context, read: 'find' | 'peek' = 'find'): Promise<string | null> => {
    const token = cookie.read(ctx);
    const session = await sessions[read](token);
    if (!session) return null;
    return timingSafeEqual(session.boundTo, bindingOf(token, adminToken)) ? session.actor : null;
  };

  const signIn = withBody(operatorSignInRequest, async (request, state, ctx) => {
    const refusal = deps.refusalOf(ctx, request.token);
    if (refusal) return refusal;
    const { actor } = request;
    state.actor = actorIn(state, actor);
    const token = newToken();
    const boundTo = bindingOf(token, adminToken);
    await sessions.start(pool, { boundTo, actor, browser: browserOf(ctx) }, token);
    await sessions.end(cookie.read(ctx));
    const body: OperatorSession = { actor, shortUrlHost };
    return json(200, body, cookie.keep(ctx, token));
  });

  const readSession = async (ctx: Context): Promise<OperatorSession | null> => {
    const actor = await actorOf(ctx);
    return actor === null ? null : { actor, shortUrlHost };
  };

  const readChanges = async (ctx: Context): Promise<ConsoleChanges | null> =>
    (await actorOf(ctx, 'peek')) === null
      ? null
      : changesOf(pool, await platformVersion(pool), true);

  const prefix = '/console/admin';
  const router = createDispatcher(prefix, routes);
  const handle = async (ctx: Context): Promise<void> => {
    ctx.set('Cache-Control', 'no-store');
    const state = ctx.state as AdminState;
    const actor = await actorOf(ctx);
    if (actor === null) {
      send(ctx, unauthorized(messages.sessionOver));
      return;
    }
    state.actor = actorIn(state, actor);
    await router.dispatch(ctx);
  };

  return createConsole({
    ...deps,
    page: 'operators.html',
    cookie,
    sessionRoutes: sessionRoutes(cookie, sessions, signIn, {
      session: readSession,
      changes: readChanges,
    }),
    calls: { prefix, handle, routeOf: (path) => router.routeOf(path) },
  });
};
