import { isIP } from 'node:net';
import type { Context } from 'koa';
import type { ProxyTrust } from '../../../ops/http/client-address.js';
import { requestOrigin } from '../../../ops/http/request-origin.js';
import { agentOf } from '../../../ops/visitors/agents.js';
import type { ConsoleSessions } from './console-sessions.js';
import type { RequestState } from '../../http/app.js';
import type { ConsoleChanges, SessionList, SignInWays } from '../../../schemas/http/console.js';
import { messages } from '../../../schemas/http/errors.js';
import { unauthorized } from '../../admission/admitted-call.js';
import { failure, json, noContent, type Reply } from '../../http/reply.js';
import type { Handler, Route } from '../../http/requests.js';

/** A week (s); the server ends sessions earlier. */
const maxAge = 604_800;

const sessionPath = '/console';
/** A response clears at most 40 cookies, so that its headers fit into a proxy's buffer (4 KB). */
const maxDomains = 3;
const maxSegments = 5;

/** The possible values of `Domain` for a host, the registrable domain last. */
const cookieDomains = (host: string): readonly string[] => {
  if (host.startsWith('[') || isIP(host) !== 0) return [];
  const labels = host.split('.');
  return labels
    .slice(0, -1)
    .map((_, index) => labels.slice(index).join('.'))
    .slice(-maxDomains);
};

/** The values of `Path` for which browsers send a cookie to this path. */
const cookiePaths = (path: string): readonly string[] => {
  // `Path` ends at a semicolon.
  const [plain = ''] = path.split(';');
  const segments = plain.split('/').slice(1, 1 + maxSegments);
  const prefixes = segments.map((_, index) => `/${segments.slice(0, index + 1).join('/')}`);
  const parents = prefixes.slice(0, -1).flatMap((prefix) => [prefix, `${prefix}/`]);
  return ['/', ...parents, ...prefixes.slice(-1)];
};

/** The family of the browser that sent a request; `null`: unknown. */
export const browserOf = ({ headers }: Context): string | null =>
  agentOf(headers['user-agent'] ?? '').data.browser;

export const sessionCookie = (name: string, isTrusted: ProxyTrust) => {
  const originOf = ({ req }: Context): URL | null => {
    const origin = requestOrigin(req, isTrusted);
    return origin === null ? null : new URL(origin);
  };
  const text = (
    value: string,
    origin: URL | null,
    { seconds = 0, path = sessionPath, domain = '' },
  ): string => {
    const scope = `Path=${path}${domain && `; Domain=${domain}`}`;
    const secure = origin?.protocol === 'https:' ? '; Secure' : '';
    return `${name}=${value}; ${scope}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  };
  return {
    /** The token of a request; empty if there is none. */
    read: (ctx: Context): string => ctx.cookies.get(name) ?? '',
    /** Whether a request has several cookies of this name: sibling domains and other ports can set one. */
    isRepeated: ({ headers }: Context): boolean => {
      const cookies = (headers.cookie ?? '').split(';');
      return cookies.filter((cookie) => cookie.trimStart().startsWith(`${name}=`)).length > 1;
    },
    keep: (ctx: Context, token: string) => ({
      'Set-Cookie': text(token, originOf(ctx), { seconds: maxAge }),
    }),
    clear: (ctx: Context) => ({ 'Set-Cookie': text('', originOf(ctx), {}) }),
    /** Clears the cookie for all domains and paths that match the request. */
    clearAll(ctx: Context): void {
      const origin = originOf(ctx);
      const domains = ['', ...(origin ? cookieDomains(origin.hostname) : [])];
      const paths = cookiePaths(ctx.path);
      ctx.set(
        'Set-Cookie',
        domains.flatMap((domain) => paths.map((path) => text('', origin, { path, domain }))),
      );
    },
  };
};

export type SessionCookie = ReturnType<typeof sessionCookie>;

const keysRefused = failure(403, 'Sign in with the identity provider');

export const sessionRoutes = (
  cookie: SessionCookie,
  sessions: ConsoleSessions,
  signIn: Handler<RequestState>,
  ways: SignInWays,
  /** Both return `null` without a session. */
  read: {
    readonly session: (ctx: Context, state: RequestState) => Promise<object | null>;
    readonly changes: (ctx: Context) => Promise<ConsoleChanges | null>;
    /** Where the browser ends the session at the identity provider; `null`: nowhere. */
    readonly endOfProvider:
      ((ctx: Context, state: RequestState) => Promise<string | null>) | undefined;
    /** Why the session may not end others; `null`: it may. */
    readonly endRefusal?: (ctx: Context) => Promise<Reply | null>;
  },
): readonly Route<RequestState>[] => {
  const withSession =
    (handle: (token: string, id: string, ctx: Context) => Promise<Reply>): Handler<RequestState> =>
    async (ctx, _state, parameter) => {
      // The key may have ended.
      if ((await read.changes(ctx)) === null) return unauthorized(messages.sessionOver);
      return handle(cookie.read(ctx), parameter('id'), ctx);
    };
  /** Ends the session with the ID of the path, or all of them. */
  const endListed = withSession(async (token, id, ctx) => {
    const refusal = await read.endRefusal?.(ctx);
    if (refusal) return refusal;
    const count = await sessions.endListed(token, id === '' ? null : id);
    return count > 0 || id === '' ? noContent() : failure(404, messages.notFound);
  });
  return [
    { method: 'POST', path: '/session', handler: ways.keys ? signIn : () => keysRefused },
    { method: 'GET', path: '/session/ways', handler: () => json(200, ways) },
    {
      method: 'GET',
      path: '/session',
      handler: async (ctx, state) => {
        const session = await read.session(ctx, state);
        // Not 401: every page sends this request, and browsers log an error for a 401.
        return session ? json(200, session) : noContent();
      },
    },
    {
      method: 'DELETE',
      path: '/session',
      handler: async (ctx, state) => {
        const location = await read.endOfProvider?.(ctx, state);
        await sessions.end(cookie.read(ctx));
        const cleared = cookie.clear(ctx);
        return location ? json(200, { location }, cleared) : noContent(cleared);
      },
    },
    {
      method: 'GET',
      path: '/session/changes',
      handler: async (ctx) => {
        const changes = await read.changes(ctx);
        return changes ? json(200, changes) : noContent();
      },
    },
    {
      method: 'GET',
      path: '/session/all',
      handler: withSession(async (token) => {
        const listed = await sessions.list(token);
        return json(200, {
          sessions: listed.map(({ startedAt, usedAt, ...session }) => ({
            ...session,
            startedAt: startedAt.toISOString(),
            usedAt: usedAt.toISOString(),
          })),
        } satisfies SessionList);
      }),
    },
    { method: 'DELETE', path: '/session/all', handler: endListed },
    { method: 'DELETE', path: '/session/all/:id', handler: endListed },
  ];
};
