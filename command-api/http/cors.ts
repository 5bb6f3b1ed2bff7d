import type { Context, Next } from 'koa';
import { messages } from '../../schemas/http/errors.js';
import { failure, noContent, send, type AnswerState } from './reply.js';

/** The origins of browser applications that may call /v2; `*`: every origin. */
export type AllowedOrigins = '*' | readonly string[];

/** What scripts may read besides the headers that browsers always show. */
const exposedHeaders = [
  ...['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'X-API-Key-Name'],
  ...['ETag', 'Retry-After', 'X-Request-Id', 'Idempotency-Replayed', 'Linklog-Ignored-Fields'],
  'Linklog-Reused',
].join(', ');

const preflightHeaders = {
  'Access-Control-Allow-Methods': 'GET, HEAD, POST, PATCH, DELETE',
  // A wildcard would not include Authorization.
  'Access-Control-Allow-Headers': [
    ...['Authorization', 'Content-Type', 'Idempotency-Key', 'If-Match', 'If-None-Match'],
    'X-Request-Id',
  ].join(', '),
  // Seconds: the most that Chromium takes.
  'Access-Control-Max-Age': '7200',
};

const isOpenToOrigins = (path: string): boolean => path === '/v2' || path.startsWith('/v2/');

/** The CORS protocol: lets allowed origins call /v2, and answers every preflight request. */
export const cors =
  (allowed: AllowedOrigins) =>
  async (ctx: Context, next: Next): Promise<void> => {
    const { headers } = ctx.state as AnswerState;
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
    else if (isAllowed) send(ctx, noContent(preflightHeaders));
    else send(ctx, failure(403, messages.originNotAllowed));
  };
