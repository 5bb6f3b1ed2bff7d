import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { projectFile } from '../../../ops/platform/files/project-file.js';
import { openApiDocument } from '../openapi/document.js';
import type { StaticFile } from '../static-files.js';

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

/** The API's document, and Swagger UI as its viewer: by their paths, as they are served. */
export const documentation = (): ReadonlyMap<string, StaticFile> =>
  new Map<string, StaticFile>([
    [
      '/openapi.json',
      {
        contentType: 'application/json; charset=utf-8',
        body: Buffer.from(JSON.stringify(openApiDocument())),
      },
    ],
    [
      '/docs',
      {
        contentType: 'text/html; charset=utf-8',
        body: ours('index.html'),
        headers: {
          'Content-Security-Policy': contentSecurityPolicy,
          'Referrer-Policy': 'no-referrer',
        },
      },
    ],
    ['/docs/initializer.js', { contentType: script, body: ours('initializer.js') }],
    ['/docs/swagger-ui-bundle.js', { contentType: script, body: theirs('swagger-ui-bundle.js') }],
    [
      '/docs/swagger-ui.css',
      { contentType: 'text/css; charset=utf-8', body: theirs('swagger-ui.css') },
    ],
    ['/docs/favicon-32x32.png', { contentType: 'image/png', body: theirs('favicon-32x32.png') }],
  ]);
