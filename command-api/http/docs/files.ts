import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Context, Next } from 'koa';
import { projectFile } from '../../../ops/platform/files/project-file.js';
import { openApiDocument } from '../openapi/document.js';
import { sendFile, staticFile } from '../static-files.js';

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

const readFiles = () => {
  const document = Buffer.from(JSON.stringify(openApiDocument()));
  const pageHeaders = {
    'Content-Security-Policy': contentSecurityPolicy,
    'Referrer-Policy': 'no-referrer',
  };
  return new Map([
    ['/openapi.json', staticFile('application/json; charset=utf-8', document)],
    ['/docs', staticFile('text/html; charset=utf-8', ours('index.html'), pageHeaders)],
    ['/docs/initializer.js', staticFile(script, ours('initializer.js'))],
    ['/docs/swagger-ui-bundle.js', staticFile(script, theirs('swagger-ui-bundle.js'))],
    ['/docs/swagger-ui.css', staticFile('text/css; charset=utf-8', theirs('swagger-ui.css'))],
    ['/docs/favicon-32x32.png', staticFile('image/png', theirs('favicon-32x32.png'))],
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
      if (found) sendFile(ctx, found);
      else await next();
    },
  };
};
