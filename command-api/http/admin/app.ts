import { createHash, timingSafeEqual } from 'node:crypto';
import type Koa from 'koa';
import type { Metrics } from '../../../ops/platform/metrics/metrics.js';
import type { OutboxDelivery } from '../../../ops/platform/outbox/port.js';
import { messages } from '../../../schemas/http/errors.js';
import { createApp, type AppDeps, type RequestState } from '../app.js';
import { failure, json, refusesMethod, send } from '../reply.js';
import { createDispatcher } from '../requests.js';
import { keyRoutes } from './keys.js';
import { linkRoutes, overrideRoutes } from './links.js';
import { platformRoutes } from './platform.js';
import { createSettle, type AdminDeps, type AdminRoutes, type AdminState } from './requests.js';

const bearer = /^Bearer +(\S+) *$/i;
const actorPattern = /^[\x21-\x7e]{1,64}$/;
const defaultActor = 'admin';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Every route under /admin. */
export const adminRoutes: AdminRoutes = (deps) =>
  [keyRoutes, platformRoutes, linkRoutes, overrideRoutes].flatMap((routes) => routes(deps));

/**
 * The operators' application: /admin/* behind the admin token, and /metrics without one, since
 * scrapers have none and nothing in it is secret.
 */
export const createAdminApp = (
  deps: AppDeps &
    Omit<AdminDeps, 'settle'> & {
      readonly adminToken: string;
      readonly delivery: OutboxDelivery;
      readonly metrics: Pick<Metrics, 'text' | 'contentType'>;
    },
): Koa<RequestState> => {
  const expected = digest(deps.adminToken);
  const isAdmin = (authorization: string | undefined): boolean =>
    timingSafeEqual(digest(bearer.exec(authorization ?? '')?.[1] ?? ''), expected);

  const routes = adminRoutes({ ...deps, settle: createSettle(deps.delivery) });
  const router = createDispatcher('/admin', routes);
  const app = createApp(deps, (path) => (path === '/metrics' ? path : router.routeOf(path)));

  app.use(async (ctx) => {
    const state = ctx.state as AdminState;
    ctx.set('Cache-Control', 'no-store');
    if (ctx.path === '/metrics') {
      if (refusesMethod(ctx)) return;
      const { contentType } = deps.metrics;
      send(ctx, { type: 'raw', status: 200, contentType, body: await deps.metrics.text() });
      return;
    }
    if (!ctx.path.startsWith('/admin/')) {
      send(ctx, failure(404, messages.notFound));
      return;
    }
    if (!isAdmin(ctx.headers.authorization)) {
      const message = 'Admin token required. Pass it as: Authorization: Bearer <ADMIN_TOKEN>';
      const body = { statusCode: 401, message, error: 'Unauthorized' };
      send(ctx, json(401, body, { 'WWW-Authenticate': 'Bearer' }));
      return;
    }
    const actor = ctx.headers['x-actor'] ?? defaultActor;
    if (typeof actor !== 'string' || !actorPattern.test(actor)) {
      send(ctx, failure(400, 'X-Actor must have 1 to 64 visible characters'));
      return;
    }
    state.actor = { actor, requestId: state.requestId };
    await router.dispatch(ctx);
  });
  return app;
};
