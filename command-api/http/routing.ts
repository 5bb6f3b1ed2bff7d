import type Router from '@koa/router';
import type { Context } from 'koa';
import { messages } from '../../schemas/http/errors.js';
import { failure, send, type Reply } from './reply.js';

/** Answers a request whose path matched; `parameter` reads a part of the path. */
export type Handler<State> = (
  ctx: Context,
  state: State,
  parameter: (name: string) => string,
) => Promise<Reply> | Reply;

/** A handler as the router's middleware. */
export const route =
  <State>(handler: Handler<State>) =>
  async (ctx: Context & { params?: Record<string, string> }): Promise<void> => {
    const parameter = (name: string): string => ctx.params?.[name] ?? '';
    send(ctx, await handler(ctx, ctx.state, parameter));
  };

/** The pattern of the route that a path leads to, whatever the method. */
export const routeFinder =
  (router: Router): ((path: string) => string | null) =>
  (path) => {
    const pattern = router.match(path, 'GET').path[0]?.path;
    return typeof pattern === 'string' ? pattern : null;
  };

/** Dispatches to a router's routes: 404 for an unknown path, 405 for another method. */
export const dispatcher = (router: Router): ((ctx: Context) => Promise<void>) => {
  const routes = router.routes();
  return async (ctx) => {
    const layers = router.match(ctx.path, ctx.method).path;
    const methods = [...new Set(layers.flatMap((layer) => layer.methods))];
    if (methods.length === 0) send(ctx, failure(404, messages.notFound));
    else if (!methods.includes(ctx.method)) {
      send(ctx, failure(405, messages.methodNotAllowed, { Allow: methods.join(', ') }));
    } else await routes(ctx as never, () => Promise.resolve());
  };
};
