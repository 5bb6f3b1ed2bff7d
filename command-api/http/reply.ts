import type { Context } from 'koa';
import { messages, type GeneralError } from '../../schemas/http/errors.js';

/** What a handler answers: JSON or raw bytes of its own, or an error in the general envelope. */
export type Reply = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
} & (
  | {
      readonly type: 'json';
      /** An object, or JSON that was written before. */
      readonly body: object | string;
    }
  | {
      readonly type: 'raw';
      readonly contentType: string;
      readonly body: Buffer | string | null;
    }
  | ({ readonly type: 'error' } & Pick<GeneralError, 'message' | 'retryAfter' | 'errorType'>)
);

export type ErrorReply = Extract<Reply, { readonly type: 'error' }>;

export const json = (
  status: number,
  body: object | string,
  headers: Readonly<Record<string, string>> = {},
): Reply => ({ type: 'json', status, body, headers });

/** An error in the general envelope. */
export const failure = (
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): ErrorReply => ({ type: 'error', status, message, headers });

/** 204 */
export const noContent = (headers: Readonly<Record<string, string>> = {}): Reply => ({
  ...{ type: 'raw', status: 204, contentType: '', body: null, headers },
});

/** 503 with `Retry-After`, in seconds. */
export const unavailable = (message: string = messages.unavailable, seconds = 1): ErrorReply =>
  failure(503, message, { 'Retry-After': String(seconds) });

/** Writes a reply as the answer. */
export const send = (ctx: Context, reply: Reply): void => {
  ctx.status = reply.status;
  ctx.set({ ...reply.headers });
  if (reply.type === 'json') {
    ctx.type = 'application/json';
    ctx.body = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body);
    return;
  }
  if (reply.type === 'raw') {
    ctx.type = reply.contentType;
    ctx.body = reply.body;
    // Koa makes it 204 when there is no body.
    ctx.status = reply.status;
    return;
  }
  const body: GeneralError = {
    statusCode: reply.status,
    timestamp: new Date().toISOString(),
    path: ctx.path,
    method: ctx.method,
    message: reply.message,
    ...(reply.errorType && { errorType: reply.errorType }),
    ...(reply.retryAfter !== undefined && { retryAfter: reply.retryAfter }),
  };
  ctx.type = 'application/json';
  ctx.body = JSON.stringify(body);
};

/** For what can only be read: answers every other method with 405. @returns whether it did */
export const refusesMethod = (ctx: Context): boolean => {
  const refused = ctx.method !== 'GET' && ctx.method !== 'HEAD';
  if (refused) send(ctx, failure(405, messages.methodNotAllowed, { Allow: 'GET, HEAD' }));
  return refused;
};
