import { createHash } from 'node:crypto';
import type { Context, Next } from 'koa';
import { messages } from '../../schemas/http/errors.js';
import { failure, send } from './reply.js';

/** What a path answers, the same to everybody. */
export interface StaticFile {
  readonly contentType: string;
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Serves what is kept in memory, by its path; other paths are the next one's. */
export const staticFiles = (
  files: ReadonlyMap<string, StaticFile>,
): ((ctx: Context, next: Next) => Promise<void>) => {
  const tags = new Map(
    [...files].map(([path, { body }]) => {
      return [path, `"${createHash('sha256').update(body).digest('base64url')}"`] as const;
    }),
  );
  return async (ctx, next) => {
    const file = files.get(ctx.path);
    if (!file) {
      await next();
      return;
    }
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      send(ctx, failure(405, messages.methodNotAllowed, { Allow: 'GET, HEAD' }));
      return;
    }
    ctx.status = 200;
    ctx.set({
      // Kept, but asked for again each time: another version has the same paths.
      'Cache-Control': 'no-cache',
      ETag: tags.get(ctx.path) ?? '',
      'X-Content-Type-Options': 'nosniff',
      ...file.headers,
    });
    if (ctx.fresh) {
      ctx.status = 304;
      return;
    }
    ctx.type = file.contentType;
    ctx.body = file.body;
  };
};
