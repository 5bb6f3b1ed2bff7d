import type { Context } from 'koa';
import { messages, type GeneralError } from '../../schemas/http/errors.js';

type Headers = Readonly<Record<string, string>>;

/** What a request's state has for its answer. */
export interface AnswerState {
  /** Of the answer, whatever it will be; those of the reply itself are added last. */
  readonly headers: Record<string, string>;
  /** `Linklog-Ignored-Fields` of a successful answer: the fields of the body that the schema strips. */
  ignoredFields?: string;
}

/** What a handler answers: JSON or raw bytes of its own, or an error in the general envelope. */
export type Reply = {
  readonly status: number;
  readonly headers?: Headers;
} & (
  | {
      readonly type: 'json';
      /** An object, or JSON that was written before, as text or in UTF-8. */
      readonly body: object | string | Buffer;
    }
  | {
      readonly type: 'raw';
      readonly contentType: string;
      readonly body: Buffer | string | null;
    }
  | ({ readonly type: 'error' } & Pick<
      GeneralError,
      'message' | 'retryAfter' | 'errorType' | 'reason'
    >)
);

export type ErrorReply = Extract<Reply, { readonly type: 'error' }>;

export const json = (status: number, body: object | string, headers: Headers = {}): Reply => ({
  type: 'json',
  status,
  body,
  headers,
});

/** An error in the general envelope. */
export const failure = (status: number, message: string, headers: Headers = {}): ErrorReply => ({
  type: 'error',
  status,
  message,
  headers,
});

const reasonOf = ({ reason }: ErrorReply): Pick<GeneralError, 'reason'> =>
  reason === undefined ? {} : { reason };

/** An error as an item of an answer tells it: what the reply to the item alone would have said. */
export const itemErrorOf = (reply: Reply): object =>
  reply.type === 'error'
    ? { statusCode: reply.status, message: reply.message, ...reasonOf(reply) }
    : (reply.body as object);

/** 204 */
export const noContent = (headers: Headers = {}): Reply => ({
  ...{ type: 'raw', status: 204, contentType: '', body: null, headers },
});

/** 503 with `Retry-After`, in seconds. */
export const unavailable = (message: string = messages.unavailable, seconds = 1): ErrorReply =>
  failure(503, message, { 'Retry-After': String(seconds) });

/**
 * Writes JSON with one call of Node's, which costs a third of Koa's setting one header after the other. What came
 * too late, after a 503, is dropped.
 */
const sendJson = (ctx: Context, status: number, headers: Headers, body: string | Buffer): void => {
  const { res } = ctx;
  ctx.respond = false;
  if (res.headersSent) return;
  res.statusCode = status;
  // The client is gone.
  if (!ctx.writable) return;
  const fields = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  };
  res.writeHead(status, fields);
  res.end(ctx.method === 'HEAD' ? undefined : body);
};

/** Writes a reply as the answer. */
export const send = (ctx: Context, reply: Reply): void => {
  const { headers, ignoredFields } = ctx.state as AnswerState;
  // Errors such as 404, 405 and 410 are cacheable by default.
  Object.assign(headers, reply.status >= 400 && { 'Cache-Control': 'no-store' }, reply.headers);
  if (ignoredFields && reply.status < 300) headers['Linklog-Ignored-Fields'] = ignoredFields;
  if (reply.type === 'json') {
    const { body } = reply;
    const isWritten = typeof body === 'string' || Buffer.isBuffer(body);
    sendJson(ctx, reply.status, headers, isWritten ? body : JSON.stringify(body));
    return;
  }
  if (reply.type === 'raw') {
    ctx.body = reply.body;
    // Without a body, Koa makes the status 204 and removes the type.
    ctx.status = reply.status;
    if (reply.contentType !== '') ctx.type = reply.contentType;
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
    ...reasonOf(reply),
  };
  sendJson(ctx, reply.status, headers, JSON.stringify(body));
};

/** For what can only be read: answers every other method with 405. @returns whether it did */
export const refusesMethod = (ctx: Context): boolean => {
  const refused = ctx.method !== 'GET' && ctx.method !== 'HEAD';
  if (refused) send(ctx, failure(405, messages.methodNotAllowed, { Allow: 'GET, HEAD' }));
  return refused;
};
