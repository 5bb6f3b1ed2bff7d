import type { Context } from 'koa';
import type { ProxyTrust } from '../../../ops/platform/http/client-address.js';
import { requestOrigin } from '../../../ops/platform/http/request-origin.js';
import type { Logger } from '../../../ops/platform/logging.js';
import type { RequestState } from '../app.js';
import { failure, send } from '../reply.js';
import { createDispatcher, type Route } from '../requests.js';
import { consoleFiles } from './files.js';

/** Of every answer below /console. Pictures may be made in the page: QR codes. */
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

/** The calls that the client makes with its session: the listener's own, below another prefix. */
export interface ConsoleCalls {
  readonly prefix: '/console/v2' | '/console/admin';
  readonly handle: (ctx: Context) => Promise<void>;
  readonly routeOf: (path: string) => string | null;
}

export const isConsolePath = (path: string): boolean =>
  path === '/console' || path.startsWith('/console/');

/** Whether a request came by https, as far as a trusted proxy says. */
export const cameByHttps =
  (isTrusted: ProxyTrust) =>
  ({ req }: Context): boolean =>
    requestOrigin(req, isTrusted)?.startsWith('https:') === true;

/**
 * Everything below /console on one listener. What changes something must come from a page of the same
 * origin, signing in and out included: no page of a stranger's can do it in a person's name.
 */
export const createConsole = (deps: {
  readonly page: 'index.html' | 'operators.html';
  /** Of the path /session. */
  readonly sessionRoutes: readonly Route<RequestState>[];
  readonly calls: ConsoleCalls;
  readonly trustedProxies: ProxyTrust;
  readonly logger: Logger;
}) => {
  const { calls, trustedProxies } = deps;
  const files = consoleFiles(deps.page, deps.logger);
  const sessions = createDispatcher('/console', deps.sessionRoutes);
  return {
    routeOf: (path: string): string | null =>
      calls.routeOf(path) ?? sessions.routeOf(path) ?? files.routeOf(path),
    async handle(ctx: Context): Promise<void> {
      ctx.set(pageHeaders);
      const isRead = ctx.method === 'GET' || ctx.method === 'HEAD';
      if (!isRead && ctx.headers.origin !== requestOrigin(ctx.req, trustedProxies)) {
        ctx.set('Cache-Control', 'no-store');
        send(ctx, failure(403, 'Origin must be that of the console'));
      } else if (ctx.path.startsWith(`${calls.prefix}/`)) await calls.handle(ctx);
      else if (ctx.path === '/console/session') {
        ctx.set('Cache-Control', 'no-store');
        await sessions.dispatch(ctx);
      } else files.serve(ctx);
    },
  };
};

export type Console = ReturnType<typeof createConsole>;
