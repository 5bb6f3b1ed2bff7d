import type { Context, Next } from 'koa';
import { messages } from '../../schemas/http/errors.js';
import { routeMethods } from '../../schemas/http/route.js';
import { failure, noContent, send, type ResponseState } from './reply.js';

/** The origins of browser applications that may call /v2; `*`: every origin. */
export type AllowedOrigins = '*' | readonly string[];

/** Headers that scripts may read in addition to the CORS-safelisted ones. */
const exposedHeaders = [
  ...['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-API-Key-Name'],
  ...['ETag', 'Retry-After', 'X-Request-Id', 'Idempotency-Replayed', 'Linklog-Ignored-Fields'],
  'Linklog-Reused',
].join(', ');

export const mcpPath = '/mcp';

const preflightHeaders = (path: string) => ({
  'Access-Control-Allow-Methods': ['HEAD', ...routeMethods].join(', '),
  // A wildcard does not include Authorization.
  'Access-Control-Allow-Headers': [
    ...['Authorization', 'Content-Type', 'Idempotency-Key', 'If-Match', 'If-None-Match'],
    'X-Request-Id',
    ...(path === mcpPath ? ['MCP-Protocol-Version', 'Mcp-Method', 'Mcp-Name'] : []),
  ].join(', '),
  // Seconds: the maximum of Chromium.
  'Access-Control-Max-Age': '7200',
});

const isOpenToOrigins = (path: string): boolean =>
  path === '/v2' || path.startsWith('/v2/') || path === mcpPath;

/** The CORS protocol for /v2 and /mcp. Responds to every preflight request. */
export const cors =
  (allowed: AllowedOrigins) =>
  async (ctx: Context, next: Next): Promise<void> => {
    const { headers } = ctx.state as ResponseState;
    const { origin } = ctx.headers;
    const isOpen = allowed.length > 0 && isOpenToOrigins(ctx.path);
    const isAllowed =
      isOpen && origin !== undefined && (allowed === '*' || allowed.includes(origin));
    if (isOpen && allowed !== '*') headers['Vary'] = 'Origin';
    if (isAllowed) {
      headers['Access-Control-Allow-Origin'] = allowed === '*' ? '*' : origin;
      headers['Access-Control-Expose-Headers'] = exposedHeaders;
    }
    const isPreflight =
      ctx.method === 'OPTIONS' &&
      origin !== undefined &&
      ctx.headers['access-control-request-method'] !== undefined;
    if (!isPreflight) await next();
    else if (isAllowed) send(ctx, noContent(preflightHeaders(ctx.path)));
    else send(ctx, failure(403, messages.originNotAllowed));
  };
