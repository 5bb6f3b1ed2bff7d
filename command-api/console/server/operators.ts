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
import { findPerson } from '../../../ops/ledger/people.js';
import { messages } from '../../../schemas/http/errors.js';
import { changesOf, platformVersion } from './changes.js';
import { createConsoleSessions, hashToken, newToken } from './console-sessions.js';
import { withBody, type AdminState } from '../../http/row-handlers.js';
import { actorIn } from '../../http/request-actor.js';
import { failure, json, send, type Reply } from '../../http/reply.js';
import { createDispatcher, type Route } from '../../http/requests.js';
import { unauthorized } from '../../admission/admitted-call.js';
import { operatorActorOf, type InstallationRole } from '../../../schemas/roles.js';
import type { People } from '../../people/handler.js';
import type { SignIn } from '../../people/oidc/provider.js';
import { createOidc } from '../../people/oidc/routes.js';
import { installationRoleOf } from '../../people/view.js';
import type { PlanTable } from '../../../schemas/plans.js';
import { createConsole } from './console.js';
import { browserOf, sessionCookie, sessionRoutes } from './session.js';

/** Binds a session to the admin token. The result does not reveal the token. */
const bindingOf = (token: string, adminToken: string): Buffer =>
  createHmac('sha256', token).update(adminToken).digest();

interface Operator {
  readonly actor: string;
  readonly name: string;
  /** `null`: the admin token signed in. */
  readonly role: InstallationRole | null;
}

const auditorsOnlyRead = failure(403, 'Auditors change nothing');

/** The operators' console: /admin with a session instead of the admin token. */
export const operatorsConsole = (
  deps: {
    readonly pool: Pool;
    readonly adminToken: string;
    readonly shortUrlHost: string;
    readonly plans: PlanTable;
    readonly trustedProxies: ProxyTrust;
    readonly logger: Logger;
    readonly people: People;
    readonly signIn: SignIn;
    readonly originOf: (ctx: Context) => string;
    /** `null` for a valid admin token. */
    readonly refusalOf: (ctx: Context, adminToken: string) => Reply | null;
  },
  routes: readonly Route<AdminState>[],
) => {
  const {
    pool,
    adminToken,
    signIn: { provider, ways },
  } = deps;
  const installation = { shortUrlHost: deps.shortUrlHost, plans: deps.plans.plans };
  const sessions = createConsoleSessions(pool, 'admin', ways.keys);
  const cookie = sessionCookie('linklog_operator', deps.trustedProxies);
  const oidc = provider && createOidc({ ...deps, provider, cookie, sessions, listener: 'admin' });

  /** Who has the session of a request; `null` without a session. */
  const operatorOf = async (
    ctx: Context,
    read: 'find' | 'peek' = 'find',
  ): Promise<Operator | null> => {
    const token = cookie.read(ctx);
    const session = await sessions[read](token);
    if (!session || session.actor === null) return null;
    const { personId, boundTo } = session;
    if (personId === null) {
      const isValid = timingSafeEqual(boundTo, bindingOf(token, adminToken));
      return isValid ? { actor: session.actor, name: session.actor, role: null } : null;
    }
    const person = await findPerson(pool, personId);
    const role = person && installationRoleOf(person);
    if (!role) return null;
    return { actor: operatorActorOf(personId), name: person.name ?? personId, role };
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
    const body: OperatorSession = { actor, role: null, ...installation };
    return json(200, body, cookie.keep(ctx, token));
  });

  const readSession = async (ctx: Context): Promise<OperatorSession | null> => {
    const operator = await operatorOf(ctx);
    return operator && { actor: operator.name, role: operator.role, ...installation };
  };

  const readChanges = async (ctx: Context): Promise<ConsoleChanges | null> =>
    (await operatorOf(ctx, 'peek')) && changesOf(pool, await platformVersion(pool), true);

  const endRefusal = async (ctx: Context): Promise<Reply | null> =>
    (await operatorOf(ctx, 'peek'))?.role === 'auditor' ? auditorsOnlyRead : null;

  const prefix = '/console/admin';
  const router = createDispatcher(prefix, routes);
  const handle = async (ctx: Context): Promise<void> => {
    ctx.set('Cache-Control', 'no-store');
    const state = ctx.state as AdminState;
    const operator = await operatorOf(ctx);
    if (!operator) {
      send(ctx, unauthorized(messages.sessionOver));
      return;
    }
    if (operator.role === 'auditor' && ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      send(ctx, auditorsOnlyRead);
      return;
    }
    state.actor = actorIn(state, operator.actor);
    state.sessionHash = hashToken(cookie.read(ctx));
    await router.dispatch(ctx);
  };

  return createConsole({
    ...deps,
    page: 'operators.html',
    cookie,
    sessionRoutes: [
      ...sessionRoutes(cookie, sessions, signIn, ways, {
        session: readSession,
        changes: readChanges,
        endOfProvider: oidc?.endOf,
        endRefusal,
      }),
      ...(oidc?.routes ?? []),
    ],
    calls: { prefix, handle, routeOf: (path) => router.routeOf(path) },
  });
};
