import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context, Next } from 'koa';
import { projectFile } from '../../../ops/platform/files/project-file.js';
import { asyncApiDocument } from '../asyncapi/document.js';
import type { Destinations } from '../../../schemas/http/link-fields.js';
import { documentText, openApiDocument } from '../openapi/document.js';
import { sendFile, staticFile, type StaticFile } from '../static-files.js';
import { bar, eventsPage } from './events-page.js';

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The style sheet contains images as data URLs; QR codes of calls are `blob:` images.
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const ownFile = (name: string): Buffer =>
  readFileSync(projectFile('command-api', 'http', 'docs', name));

const swaggerFile = (name: string): Buffer =>
  readFileSync(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)));

const html = 'text/html; charset=utf-8';
const json = 'application/json; charset=utf-8';
const script = 'text/javascript; charset=utf-8';
const style = 'text/css; charset=utf-8';

/** The page of the OpenAPI document, which Swagger UI shows. */
const apiPage = (hasConsole: boolean): Buffer => {
  const session = '<p id="session" role="status" data-address="console/session"></p>\n';
  return Buffer.from(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Linklog API</title>
<link rel="icon" href="favicon.ico">
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="stylesheet" href="docs/bar.css">
<link rel="stylesheet" href="docs/api.css">
</head>
<body>
${bar('docs', { root: '', hasConsole, ...(hasConsole && { more: session }) })}
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/initializer.js"></script>
</body>
</html>
`);
};

const readFiles = (hasConsole: boolean, destinations: Destinations) => {
  const openApi = Buffer.from(documentText(openApiDocument(), destinations));
  const asyncApi = asyncApiDocument();
  const pageHeaders = {
    'Content-Security-Policy': contentSecurityPolicy,
    'Referrer-Policy': 'no-referrer',
  };
  return new Map([
    ['/openapi.json', staticFile(json, openApi)],
    ['/asyncapi.json', staticFile(json, Buffer.from(JSON.stringify(asyncApi)))],
    ['/docs', staticFile(html, apiPage(hasConsole), pageHeaders)],
    ['/docs/events', staticFile(html, eventsPage(asyncApi, hasConsole), pageHeaders)],
    ['/docs/bar.css', staticFile(style, ownFile('bar.css'))],
    ['/docs/api.css', staticFile(style, ownFile('api.css'))],
    ['/docs/events.css', staticFile(style, ownFile('events.css'))],
    ['/docs/initializer.js', staticFile(script, ownFile('initializer.js'))],
    ['/docs/swagger-ui-bundle.js', staticFile(script, swaggerFile('swagger-ui-bundle.js'))],
    ['/docs/swagger-ui.css', staticFile(style, swaggerFile('swagger-ui.css'))],
  ]);
};

const compressed = async (file: StaticFile): Promise<StaticFile> => ({
  ...file,
  encoded: new Map([['gzip', await promisify(gzip)(file.body)]]),
});

/**
 * The OpenAPI document in Swagger UI, and the AsyncAPI document with its page, in memory. A file is compressed by its
 * first request: the script of 1.7 MB would delay each start by 50 ms.
 */
export const documentation = (hasConsole: boolean, destinations: Destinations) => {
  const files = readFiles(hasConsole, destinations);
  const requested = new Map<string, Promise<StaticFile>>();
  return {
    has: (path: string): boolean => files.has(path),
    serve: async (ctx: Context, next: Next): Promise<void> => {
      const file = files.get(ctx.path);
      if (!file) return void (await next());
      const found = requested.get(ctx.path) ?? compressed(file);
      requested.set(ctx.path, found);
      sendFile(ctx, await found);
    },
  };
};
