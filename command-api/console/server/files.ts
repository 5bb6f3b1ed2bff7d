import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Context } from 'koa';
import { nullOnThrow } from '../../../ops/platform/errors.js';
import { projectFile } from '../../../ops/platform/files/project-file.js';
import type { Logger } from '../../../ops/platform/logging.js';
import { messages } from '../../../schemas/http/errors.js';
import { failure, send, type Reply } from '../../http/reply.js';
import { sendFile, staticFile, type StaticFile } from '../../http/static-files.js';

/** Where `npm run build` puts the client. */
const built = projectFile('dist', 'command-api', 'console', 'client');

const assets = '/console/assets/';
/** What is below /console and none of the client's pages. */
const reserved = [assets, '/console/v2/', '/console/admin/'];

/** Files whose names change with what is in them. */
const immutable = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/** The client's files by the paths at which they are served; empty where it was not built. */
const readClient = (folder: string): ReadonlyMap<string, StaticFile> => {
  const read = (): string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const names = nullOnThrow(read, 'ENOENT') ?? [];
  const files = names.filter((name) => path.extname(name) !== '');
  return new Map(
    files.map((name) => {
      const at = `/console/${name.split(path.sep).join('/')}`;
      const body = readFileSync(path.join(folder, name));
      // Koa knows the type of an extension.
      return [at, staticFile(path.extname(name), body, at.startsWith(assets) ? immutable : {})];
    }),
  );
};

const notBuilt: Reply = {
  type: 'raw',
  status: 503,
  contentType: 'text/html; charset=utf-8',
  body:
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Linklog</title>' +
    '<h1>The console was not built</h1><p>Run <code>npm run build</code>, and start Linklog again.',
  headers: { 'Cache-Control': 'no-store' },
};

/** Serves the client from memory: its files, and its page wherever none is, for the client's own paths. */
export const consoleFiles = (
  page: 'index.html' | 'operators.html',
  logger: Logger,
  folder = built,
) => {
  const files = readClient(folder);
  const start = files.get(`/console/${page}`);
  if (!start) logger.warn({ folder }, 'the console was not built: run "npm run build"');
  return {
    routeOf: (at: string): string => (at.startsWith(assets) ? `${assets}*` : '/console'),
    serve(ctx: Context): void {
      const file = files.get(ctx.path);
      if (file) sendFile(ctx, file);
      else if (reserved.some((prefix) => ctx.path.startsWith(prefix))) {
        send(ctx, failure(404, messages.notFound));
      } else if (start) sendFile(ctx, start);
      else send(ctx, notBuilt);
    },
  };
};
