import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Context } from 'koa';
import { nullOnThrow } from '../../../ops/platform/errors.js';
import { projectFile } from '../../../ops/platform/files/project-file.js';
import type { Logger } from '../../../ops/platform/logging.js';
import { messages } from '../../../schemas/http/errors.js';
import { failure, send, type Reply } from '../../http/reply.js';
import { sendFile, staticFile, type StaticFile } from '../../http/static-files.js';

const built = projectFile('dist', 'command-api', 'console', 'client');

const assets = '/console/assets/';
/** Prefixes without pages of the client. */
const reserved = [assets, '/console/v2/', '/console/admin/'];

/** The names of these files contain a hash of their content. */
const immutable = { 'Cache-Control': 'public, max-age=31536000, immutable' };

/** Content codings of files that the build compressed, the preferred one first. */
const codings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/** The client's files by path; empty if the client was not built. */
const readClient = (folder: string): ReadonlyMap<string, StaticFile> => {
  const read = (): string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const names = nullOnThrow(read, 'ENOENT') ?? [];
  const bodyOf = (name: string): Buffer => readFileSync(path.join(folder, name));
  const files = names.filter((name) => !['', '.br', '.gz'].includes(path.extname(name)));
  return new Map(
    files.map((name) => {
      const at = `/console/${name.split(path.sep).join('/')}`;
      const encoded = codings.flatMap(([coding, extension]) =>
        names.includes(name + extension) ? [[coding, bodyOf(name + extension)] as const] : [],
      );
      // Koa maps the extension to a content type.
      const type = path.extname(name);
      const headers = at.startsWith(assets) ? immutable : {};
      return [at, staticFile(type, bodyOf(name), headers, new Map(encoded))];
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

/** Serves the client's files from memory, and its page for all other paths, which the client routes. */
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
