import { createHash } from 'node:crypto';
import type { Context } from 'koa';
import { refusesMethod } from './reply.js';

/** A file in memory. */
export interface StaticFile {
  readonly contentType: string;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

export const staticFile = (
  contentType: string,
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
): StaticFile => {
  const tag = createHash('sha256').update(body).digest('base64url');
  return {
    contentType,
    body,
    // Revalidated each time, because another version has the same paths.
    headers: { ETag: `"${tag}"`, 'Cache-Control': 'no-cache', ...headers },
  };
};

/** Sends a file, or 304 if the client has it. */
export const sendFile = (ctx: Context, { contentType, body, headers }: StaticFile): void => {
  if (refusesMethod(ctx)) return;
  ctx.status = 200;
  ctx.set({ ...headers });
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  ctx.type = contentType;
  ctx.body = body;
};
