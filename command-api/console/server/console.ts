import type { Context } from 'koa';
import type { ProxyTrust } from '../../../ops/http/client-address.js';
import { requestOrigin } from '../../../ops/http/request-origin.js';
import type { Logger } from '../../../ops/platform/logging.js';
import type { RequestState } from '../../http/app.js';
import { messages } from '../../../schemas/http/errors.js';
import { failure, send, type Reply } from '../../http/reply.js';
import { createDispatcher, type Route } from '../../http/requests.js';
import { unauthorized } from '../../admission/admitted-call.js';
import { consoleFiles } from './files.js';
import type { SessionCookie } from './session.js';

/** Headers of every response below /console. QR codes are `blob:` images. */
const pageHeaders = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob: data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Referrer-Policy': 'no-referrer',
};

/** The listener's routes below another prefix, for requests with a session. */
interface ConsoleCalls {
  readonly prefix: '/console/v2' | '/console/admin';
  readonly handle: (ctx: Context) => Promise<void>;
  readonly routeOf: (path: string) => string | null;
}

export const isConsolePath = (path: string): boolean =>
  path === '/console' || path.startsWith('/console/');

/** Values of `Sec-Fetch-Site` of the console's own requests and of typed addresses. */
const ownSites: ReadonlySet<string> = new Set(['same-origin', 'none']);

const ofProvider: ReadonlySet<string> = new Set(['/console/oidc/callback', '/console/oidc/logout']);

const foreignOrigin = failure(403, 'Origin must be that of the console');
const foreignSite = failure(403, 'Sec-Fetch-Site must be same-origin or none');

/**
 * Everything below /console on one listener. Requests that change something, including signing in and out, must come from
 * a page of the same origin (CSRF). Reads from other origins are refused too, because they count toward the limits of
 * the session's key.
 */
export const createConsole = (deps: {
  readonly page: 'index.html' | 'operators.html';
  readonly cookie: SessionCookie;
  readonly sessionRoutes: readonly Route<RequestState>[];
  readonly calls: ConsoleCalls;
  readonly trustedProxies: ProxyTrust;
  readonly logger: Logger;
}) => {
  const { calls, cookie, trustedProxies } = deps;
  const files = consoleFiles(deps.page, deps.logger);
  const sessions = createDispatcher('/console', deps.sessionRoutes);
  const isCall = ({ path }: Context): boolean => path.startsWith(`${calls.prefix}/`);
  const isSession = ({ path }: Context): boolean =>
    path === '/console/session' ||
    path.startsWith('/console/session/') ||
    path.startsWith('/console/oidc/');

  const refusalOf = (ctx: Context): Reply | null => {
    const { method, headers } = ctx;
    const site = headers['sec-fetch-site'];
    // The identity provider sends them, with a token or with the state that the browser keeps.
    if (ofProvider.has(ctx.path)) return null;
    if (method !== 'GET' && method !== 'HEAD') {
      if (headers.origin !== requestOrigin(ctx.req, trustedProxies)) return foreignOrigin;
    } else if ((isCall(ctx) || isSession(ctx)) && site !== undefined && !ownSites.has(site))
      return foreignSite;
    if (!(isCall(ctx) || isSession(ctx)) || !cookie.isRepeated(ctx)) return null;
    cookie.clearAll(ctx);
    return unauthorized(messages.sessionRepeated);
  };

  return {
    routeOf: (path: string): string | null =>
      calls.routeOf(path) ?? sessions.routeOf(path) ?? files.routeOf(path),
    async handle(ctx: Context): Promise<void> {
      ctx.set(pageHeaders);
      const refusal = refusalOf(ctx);
      if (refusal) {
        ctx.set('Cache-Control', 'no-store');
        send(ctx, refusal);
      } else if (isCall(ctx)) await calls.handle(ctx);
      else if (isSession(ctx)) {
        ctx.set('Cache-Control', 'no-store');
        (ctx.state as RequestState).isUnlimited = true;
        await sessions.dispatch(ctx);
      } else files.serve(ctx);
    },
  };
};
