import { readFileSync } from 'node:fs';
import type { Context, Next } from 'koa';
import { namesHtml } from '../../ops/http/names-html.js';
import { projectFile } from '../../ops/platform/files/project-file.js';
import { sendFile, staticFile } from './static-files.js';

/** The paths that a browser requests by itself: its icon, and `/`, which leads to the console of the listener. */
export const browserPaths = (hasConsole: boolean) => {
  const icon = staticFile(
    'image/svg+xml',
    readFileSync(projectFile('command-api', 'console', 'client', 'icon.svg')),
  );
  return async (ctx: Context, next: Next): Promise<void> => {
    if (ctx.path === '/favicon.ico') sendFile(ctx, icon);
    else if (hasConsole && ctx.path === '/' && namesHtml(ctx.headers.accept)) {
      ctx.status = 302;
      // Not `ctx.redirect`, which writes a page.
      ctx.set({ Location: '/console', 'Cache-Control': 'no-store', Vary: 'Accept' });
    } else await next();
  };
};
