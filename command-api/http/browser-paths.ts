import { readFileSync } from 'node:fs';
import type { Context, Next } from 'koa';
import { namesHtml } from '../../ops/http/names-html.js';
import { projectFile } from '../../ops/platform/files/project-file.js';
import { send, type Reply } from './reply.js';
import { sendFile, staticFile } from './static-files.js';

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
