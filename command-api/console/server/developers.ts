import type { Context } from 'koa';
import type { ProxyTrust } from '../../../ops/http/client-address.js';
import type { Logger } from '../../../ops/platform/logging.js';
import { transaction, type Pool, type Queryable } from '../../../ops/platform/postgres/pool.js';
import {
  signInRequest,
  switchAccountRequest,
  type ConsoleChanges,
  type ConsoleSession,
} from '../../../schemas/http/console.js';
import { messages } from '../../../schemas/http/errors.js';
import { hashKeyToken, isKeyToken } from '../../keys/key-token.js';
import { createConsoleAdmission } from '../../admission/console-calls.js';
import { accountVersion, changesOf } from './changes.js';
import { findKeyBySecret, findKeyByToken, type KeyOfSecret } from './console-keys.js';
import { createConsoleSessions, hashToken } from './console-sessions.js';
import { withBody } from '../../http/row-handlers.js';
import type { RequestState } from '../../http/app.js';
import type { Guesses } from '../../http/guesses.js';
import { failure, json, type Reply } from '../../http/reply.js';
import { unauthorized } from '../../admission/admitted-call.js';
import { createV2, type Authenticate, type V2Deps, type V2Route } from '../../http/routes.js';
import { createConsole } from './console.js';
import { findPerson, roleHash } from '../../../ops/ledger/people.js';
import { isPersonId } from '../../../schemas/roles.js';
import type { People } from '../../people/handler.js';
import type { SignIn } from '../../people/oidc/provider.js';
import { createOidc } from '../../people/oidc/routes.js';
import { accountRolesOf } from '../../people/view.js';
import { browserOf, sessionCookie, sessionRoutes } from './session.js';

const addressExpired =
  'This address was used, or is older than 10 minutes. Make another: linklog console';

/** A QR code costs one of the quota, so it needs a POST (CSRF). It does not need the log. */
const consoleRoute = (route: V2Route): V2Route =>
  route.path === '/qr/:shortCode' ? { ...route, method: 'POST', writes: false } : route;

/** The developers' console: /v2 with a session instead of a key. */
export const developersConsole = (
  deps: V2Deps & {
    readonly pool: Pool;
    readonly trustedProxies: ProxyTrust;
    readonly guesses: Guesses;
    /** `null`: the console does not link to the plans. */
    readonly plansUrl: string | null;
    readonly logger: Logger;
    readonly people: People;
    readonly signIn: SignIn;
    readonly originOf: (ctx: Context) => string;
  },
  routes: readonly V2Route[],
) => {
  const {
    pool,
    guesses,
    plansUrl,
    shortUrlHost,
    signIn: { provider, ways },
  } = deps;
  const sessions = createConsoleSessions(pool, 'api', ways.keys);
  const cookie = sessionCookie('linklog_console', deps.trustedProxies);
  const oidc = provider && createOidc({ ...deps, provider, cookie, sessions, listener: 'api' });

  const toResponse = async ({ account, key }: KeyOfSecret): Promise<ConsoleSession> => {
    const found = isPersonId(key.id) ? await findPerson(pool, key.id) : null;
    const roles = found && accountRolesOf(found);
    const accounts = roles?.map((own) => ({ account: own.account, role: own.role })) ?? [];
    const role = accounts.find((own) => own.account === account)?.role ?? 'viewer';
    const person = found && { role, accounts };
    return { account, key, upgradeUrl: plansUrl, shortUrlHost, person };
  };

  /** Replaces the session of the browser. */
  const start = async (ctx: Context, client: Queryable, key: KeyOfSecret): Promise<Reply> => {
    const token = await sessions.start(client, {
      boundTo: key.secretHash,
      actor: null,
      browser: browserOf(ctx),
    });
    await sessions.end(cookie.read(ctx), client);
    return json(200, await toResponse(key), cookie.keep(ctx, token));
  };

  const signIn = withBody(signInRequest, async (request, state, ctx) => {
    const respond = async (client: Queryable, key: KeyOfSecret | null): Promise<Reply | null> => {
      if (!key) return null;
      state.keyId = key.key.id;
      return 'accept' in request && !request.accept
        ? json(200, await toResponse(key))
        : start(ctx, client, key);
    };
    if ('key' in request) {
      const hash = isKeyToken(request.key) ? Buffer.from(hashKeyToken(request.key), 'hex') : null;
      const reply = await respond(pool, hash && (await findKeyBySecret(pool, hash)));
      return reply ?? guesses.refuse(ctx, unauthorized(messages.keyInvalid));
    }
    const reply = await transaction(pool, async (tx) =>
      respond(tx, await findKeyByToken(tx, request.token, request.accept)),
    );
    return reply ?? guesses.refuse(ctx, unauthorized(addressExpired));
  });

  const readSession = async (ctx: Context, state: RequestState): Promise<ConsoleSession | null> => {
    const session = await sessions.find(cookie.read(ctx));
    const found = session && (await findKeyBySecret(pool, session.boundTo));
    if (!found) return null;
    state.keyId = found.key.id;
    return toResponse(found);
  };

  const switchAccount = withBody(switchAccountRequest, async ({ account }, _state, ctx) => {
    const token = cookie.read(ctx);
    const session = await sessions.find(token);
    if (session?.personId == null) return unauthorized(messages.sessionOver);
    const boundTo = roleHash(session.personId, account);
    const found = await findKeyBySecret(pool, boundTo);
    if (!found) return failure(403, 'You have no role in this account');
    await sessions.switchAccount(token, boundTo, account);
    return json(200, await toResponse(found));
  });

  const readChanges = async (ctx: Context): Promise<ConsoleChanges | null> => {
    const session = await sessions.peek(cookie.read(ctx));
    const found = session && (await findKeyBySecret(pool, session.boundTo));
    return found && changesOf(pool, await accountVersion(pool, found.account), false);
  };

  const bySession: Authenticate = async (ctx) => {
    const token = cookie.read(ctx);
    const session = await sessions.find(token);
    return {
      keyHash: session?.boundTo.toString('hex') ?? null,
      sessionHash: hashToken(token),
      message: messages.sessionOver,
    };
  };

  const prefix = '/console/v2';
  const admission = { ...deps.admission, ...createConsoleAdmission(pool, deps.admission) };
  const calls = createV2({ ...deps, admission }, routes.map(consoleRoute), prefix, bySession);
  return createConsole({
    ...deps,
    page: 'index.html',
    cookie,
    sessionRoutes: [
      ...sessionRoutes(cookie, sessions, signIn, ways, {
        session: readSession,
        changes: readChanges,
        endOfProvider: oidc?.endOf,
      }),
      ...(oidc?.routes ?? []),
      ...(oidc ? [{ method: 'PATCH', path: '/session', handler: switchAccount } as const] : []),
    ],
    calls: { ...calls, prefix },
  });
};
