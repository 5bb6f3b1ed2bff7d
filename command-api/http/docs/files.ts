import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Context, Next } from 'koa';
import { projectFile } from '../../../ops/platform/files/project-file.js';
import { openApiDocument } from '../openapi/document.js';
import { refusesMethod } from '../reply.js';

/** Everything comes from here, and nothing is written into the page. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The style sheet has its small pictures in itself.
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const ours = (name: string): Buffer =>
  readFileSync(projectFile('command-api', 'http', 'docs', name));

const theirs = (name: string): Buffer =>
  readFileSync(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)));

const script = 'text/javascript; charset=utf-8';

const file = (
  contentType: string,
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
) => {
  const tag = createHash('sha256').update(body).digest('base64url');
  return { contentType, body, headers: { ETag: `"${tag}"`, ...headers } };
};

const readFiles = () => {
  const document = Buffer.from(JSON.stringify(openApiDocument()));
  const pageHeaders = {
    'Content-Security-Policy': contentSecurityPolicy,
    'Referrer-Policy': 'no-referrer',
  };
  return new Map([
    ['/openapi.json', file('application/json; charset=utf-8', document)],
    ['/docs', file('text/html; charset=utf-8', ours('index.html'), pageHeaders)],
    ['/docs/initializer.js', file(script, ours('initializer.js'))],
    ['/docs/swagger-ui-bundle.js', file(script, theirs('swagger-ui-bundle.js'))],
    ['/docs/swagger-ui.css', file('text/css; charset=utf-8', theirs('swagger-ui.css'))],
    ['/docs/favicon-32x32.png', file('image/png', theirs('favicon-32x32.png'))],
  ]);
};

/** The API's document, and Swagger UI as its viewer: kept in memory, the same to everybody. */
export const documentation = () => {
  const files = readFiles();
  return {
    has: (path: string): boolean => files.has(path),
    /** Serves the files by their paths; other paths are the next one's. */
    serve: async (ctx: Context, next: Next): Promise<void> => {
      const found = files.get(ctx.path);
      if (!found) {
        await next();
        return;
      }
      if (refusesMethod(ctx)) return;
      ctx.status = 200;
      // Kept, but asked for again each time: another version has the same paths.
      ctx.set({ 'Cache-Control': 'no-cache', ...found.headers });
      if (ctx.fresh) {
        ctx.status = 304;
        return;
      }
      ctx.type = found.contentType;
      ctx.body = found.body;
    },
  };
};
