import { createHash } from 'node:crypto';
import type { Context, Next } from 'koa';
import { refusesMethod, send, type Reply } from './reply.js';
import { readFileSync } from 'node:fs';
import { namesHtml } from '../../ops/http/names-html.js';
import { projectFile } from '../../ops/platform/files/project-file.js';

// Not `ctx.redirect`, which writes a page.
const toConsole: Reply = {
  ...{ type: 'raw', status: 302, contentType: '', body: null },
  headers: { Location: '/console', 'Cache-Control': 'no-store', Vary: 'Accept' },
};

/** Whether a browser requests a page. */
const isPageRequest = ({ method, headers }: Context): boolean =>
  (method === 'GET' || method === 'HEAD') && namesHtml(headers.accept);

/** The paths that a browser requests by itself: its icon, and `/`, which leads to the console of the listener. */
export const browserPaths = (hasConsole: boolean) => {
  const icon = staticFile(
    'image/svg+xml',
    readFileSync(projectFile('command-api', 'console', 'client', 'icon.svg')),
  );
  return async (ctx: Context, next: Next): Promise<void> => {
    if (ctx.path === '/favicon.ico') sendFile(ctx, icon);
    else if (hasConsole && isPageRequest(ctx) && ctx.path === '/') send(ctx, toConsole);
    else await next();
  };
};

/** A file in memory. */
export interface StaticFile {
  readonly contentType: string;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  /** The body by content coding, the preferred one first. */
  readonly encoded: ReadonlyMap<string, Buffer>;
}

export const staticFile = (
  contentType: string,
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
  encoded: StaticFile['encoded'] = new Map(),
): StaticFile => {
  const tag = createHash('sha256').update(body).digest('base64url');
  return {
    ...{ contentType, body, encoded },
    // Revalidated each time, because another version has the same paths.
    // Weak, because it is that of all encodings.
    headers: { ETag: `W/"${tag}"`, 'Cache-Control': 'no-cache', ...headers },
  };
};

/** Sends a file, or 304 if the client has it. */
export const sendFile = (ctx: Context, file: StaticFile): void => {
  const { contentType, body, headers, encoded } = file;
  if (refusesMethod(ctx)) return;
  ctx.status = 200;
  ctx.set({ ...headers });
  if (encoded.size > 0) ctx.vary('Accept-Encoding');
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  ctx.type = contentType;
  const coding = [...encoded.keys()].find((name) => ctx.acceptsEncodings(name) === name);
  if (coding !== undefined) ctx.set('Content-Encoding', coding);
  ctx.body = encoded.get(coding ?? '') ?? body;
};
