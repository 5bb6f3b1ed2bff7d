import { koaBody } from 'koa-body';
import type { Context } from 'koa';
import { messages } from '../../schemas/http/errors.js';
import { disallowedProperty } from '../../schemas/http/shorten.js';
import { failure, type Reply } from './reply.js';

/** A body as it came, or the reply that says why it could not be taken. */
export type RawBody =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'refused'; readonly reply: Reply };

/** A parsed body, or the reply that says why it could not be. */
export type JsonBody =
  | { readonly type: 'json'; readonly json: unknown }
  | { readonly type: 'refused'; readonly reply: Reply };

const tooLarge = (ctx: Context): RawBody => {
  // The rest of the body is not read, so the connection is of no further use.
  ctx.set('Connection', 'close');
  return { type: 'refused', reply: failure(413, messages.bodyTooLarge) };
};

/**
 * Reads a JSON request's body, of at most `limit` bytes, without parsing it: an idempotent replay
 * needs it as it came.
 */
export const bodyReader = (limit: number): ((ctx: Context) => Promise<RawBody>) => {
  const read = koaBody({
    json: false,
    urlencoded: false,
    text: true,
    textTypes: ['application/json'],
    textLimit: limit,
  });
  return async (ctx) => {
    if (Number(ctx.headers['content-length'] ?? 0) > limit) return tooLarge(ctx);
    // A media type is the same in any case, and may be followed by white space before its parameters.
    if (ctx.request.type.trim().toLowerCase() !== 'application/json') {
      ctx.set('Connection', 'close');
      return { type: 'refused', reply: failure(415, messages.contentType) };
    }
    try {
      await read(ctx, () => Promise.resolve());
    } catch (error) {
      const { status, type } = error as { status?: number; type?: string };
      if (status === 413) return tooLarge(ctx);
      if (status === 415) return { type: 'refused', reply: failure(415, messages.contentType) };
      // Without a status it was the unpacking that failed.
      const isPacked = ctx.headers['content-encoding'] !== undefined;
      // Broken off before it was read: the client's doing, as when it is broken off amid it (400).
      const isGone = type === 'stream.not.readable';
      if (status === 400 || isGone || (status === undefined && isPacked)) {
        ctx.set('Connection', 'close');
        return { type: 'refused', reply: failure(400, messages.invalidJson) };
      }
      throw error;
    }
    const { body } = ctx.request;
    return { type: 'text', text: typeof body === 'string' ? body : '' };
  };
};

/** Parses a body; an empty one counts as `{}`. */
export const parseJson = (text: string): JsonBody => {
  let json: unknown;
  try {
    json = text.trim() === '' ? {} : JSON.parse(text);
  } catch {
    // What is malformed is the sender's to find; the parser's message may quote the body.
    return { type: 'refused', reply: failure(400, messages.invalidJson) };
  }
  const property = disallowedProperty(json);
  if (property !== null) {
    return { type: 'refused', reply: failure(400, `property ${property} should not exist`) };
  }
  return { type: 'json', json };
};
