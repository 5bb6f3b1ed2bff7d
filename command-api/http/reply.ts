import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import type { OutboxDelivery, OutboxPosition } from '../../ops/event-log/outbox/port.js';
import { messages, type GeneralError } from '../../schemas/http/errors.js';
import { once } from 'node:events';

/**
 * Writes a part of a body, and waits for a slow client. Returns when the client disconnects, too. The listener closes
 * connections without write progress.
 */
export const writePart = async (res: ServerResponse, part: string | Buffer): Promise<void> => {
  if (res.destroyed || res.write(part)) return;
  const controller = new AbortController();
  const { signal } = controller;
  try {
    await Promise.race([once(res, 'drain', { signal }), once(res, 'close', { signal })]);
  } finally {
    // Removes the listeners of the event that did not occur.
    controller.abort();
  }
};

type Headers = Readonly<Record<string, string>>;

export interface ResponseState {
  /** Headers of every response to the request; the reply adds its own. */
  readonly headers: Record<string, string>;
  ignoredFields?: string;
}

/** The result of a handler: JSON, raw bytes, a stream, or an error in the general envelope. */
export type Reply = {
  readonly status: number;
  readonly headers?: Headers;
} & (
  | {
      readonly type: 'json';
      /** An object, or serialised JSON. */
      readonly body: object | string | Buffer;
    }
  | {
      readonly type: 'raw';
      readonly contentType: string;
      readonly body: Buffer | string | null;
    }
  | {
      readonly type: 'stream';
      /** Sends the body, after the head was sent. */
      readonly start: (res: ServerResponse) => void;
      /** Called instead of `start` if the response cannot be sent: releases what the reply holds; `null`: nothing. */
      readonly cancel: (() => void) | null;
    }
  | ({ readonly type: 'error' } & Pick<
      GeneralError,
      'message' | 'retryAfter' | 'errorType' | 'reason' | 'found'
    >)
);

type ErrorReply = Extract<Reply, { readonly type: 'error' }>;

export const json = (status: number, body: object | string, headers: Headers = {}): Reply => ({
  type: 'json',
  status,
  body,
  headers,
});

export const failure = (status: number, message: string, headers: Headers = {}): ErrorReply => ({
  type: 'error',
  status,
  message,
  headers,
});

const reasonOf = ({ reason }: ErrorReply): Pick<GeneralError, 'reason'> =>
  reason === undefined ? {} : { reason };

export const itemErrorOf = (reply: Reply): object => {
  if (reply.type === 'error') {
    return { statusCode: reply.status, message: reply.message, ...reasonOf(reply) };
  }
  if (reply.type === 'json') return reply.body as object;
  throw new TypeError(`a reply of type ${reply.type} is no item`);
};

/** Adds a header of the request to `Vary` of every response. */
const varyBy = (ctx: Context, header: string): void => {
  const { headers } = ctx.state as ResponseState;
  const { Vary: others } = headers;
  headers['Vary'] = others === undefined ? header : `${others}, ${header}`;
};

/** Whether the client prefers `other`. `usual` is also the response to types that do not exist. */
export const prefers = (ctx: Context, other: string, usual: string): boolean => {
  varyBy(ctx, 'Accept');
  return ctx.accepts(usual, other) === other;
};

/** 202 */
export const acceptedForLater: Reply = {
  ...{ type: 'raw', status: 202, contentType: '', body: null },
};

/** 303: a browser gets the page at the location. */
export const seeOther = (location: string, headers: Headers = {}): Reply => ({
  ...{ type: 'raw', status: 303, contentType: '', body: null },
  headers: { ...headers, Location: location },
});

/** 204 */
export const noContent = (headers: Headers = {}): Reply => ({
  ...{ type: 'raw', status: 204, contentType: '', body: null, headers },
});

/** 503 with `Retry-After`, in seconds. */
export const unavailable = (message: string = messages.unavailable, seconds = 1): ErrorReply =>
  failure(503, message, { 'Retry-After': String(seconds) });

/** How long a response waits for the log (ms): clients get one within 2 s. */
export const logWithinMs = 1_500;

/** The response to a change, as soon as the log has its events. */
export const whenPublished = async (
  delivery: OutboxDelivery,
  outboxPosition: OutboxPosition,
  respond: () => Promise<Reply> | Reply,
): Promise<Reply> =>
  (await delivery.published(outboxPosition, logWithinMs))
    ? respond()
    : unavailable(messages.logUnavailable);

/** 429 with `Retry-After`, at least 1 s. */
export const tooManyRequests = (message: string, waitMs: number): ErrorReply => {
  const retryAfter = Math.max(1, Math.ceil(waitMs / 1_000));
  return { ...failure(429, message, { 'Retry-After': String(retryAfter) }), retryAfter };
};

/** A page of rows that were read with a limit of `limit + 1`, and the cursor after it; `null` at the end. */
export const pageOf = <Row, Cursor>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (last: Row) => Cursor,
): { readonly page: readonly Row[]; readonly next: Cursor | null } => {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { page, next: last !== undefined && rows.length > limit ? cursorOf(last) : null };
};

/**
 * Sends JSON with one call of `writeHead`, which takes a third of the time of Koa's setters. A late response, after a
 * 503, is dropped.
 */
const sendJson = (ctx: Context, status: number, headers: Headers, body: string | Buffer): void => {
  const { res } = ctx;
  ctx.respond = false;
  if (res.headersSent) return;
  res.statusCode = status;
  // The client has disconnected.
  if (!ctx.writable) return;
  const fields = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  };
  res.writeHead(status, fields);
  res.end(ctx.method === 'HEAD' ? undefined : body);
};

/** The general envelope of an error. */
export const envelopeOf = (ctx: Context, reply: ErrorReply): GeneralError => ({
  statusCode: reply.status,
  timestamp: new Date().toISOString(),
  path: ctx.path,
  method: ctx.method,
  message: reply.message,
  ...(reply.errorType && { errorType: reply.errorType }),
  ...(reply.retryAfter !== undefined && { retryAfter: reply.retryAfter }),
  ...reasonOf(reply),
  ...(reply.found && { found: reply.found }),
});

export const send = (ctx: Context, reply: Reply): void => {
  const { headers, ignoredFields } = ctx.state as ResponseState;
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
  if (reply.type === 'stream') {
    ctx.respond = false;
    // The client has disconnected, or has got a 503.
    if (ctx.res.headersSent || ctx.res.destroyed) {
      reply.cancel?.();
      return;
    }
    ctx.res.writeHead(reply.status, headers);
    reply.start(ctx.res);
    return;
  }
  sendJson(ctx, reply.status, headers, JSON.stringify(envelopeOf(ctx, reply)));
};

/** Sends 405 unless the method is GET or HEAD. @returns whether it did */
export const refusesMethod = (ctx: Context): boolean => {
  const refused = ctx.method !== 'GET' && ctx.method !== 'HEAD';
  if (refused) send(ctx, failure(405, messages.methodNotAllowed, { Allow: 'GET, HEAD' }));
  return refused;
};
