import { createHash, timingSafeEqual } from 'node:crypto';
import type Koa from 'koa';
import {
  clientAddress,
  networkOf,
  type ProxyTrust,
} from '../../../ops/platform/http/client-address.js';
import { GuessThrottle } from '../../../ops/platform/http/guess-throttle.js';
import type { Metrics } from '../../../ops/platform/metrics/metrics.js';
import type { OutboxDelivery } from '../../../ops/platform/outbox/port.js';
import { messages } from '../../../schemas/http/errors.js';
import { operatorName } from '../../../schemas/http/operators.js';
import { createApp, type AppDeps, type RequestState } from '../app.js';
import { failure, json, refusesMethod, send, type Reply } from '../reply.js';
import { createDispatcher, parseAs } from '../requests.js';
import { keyRoutes } from './keys.js';
import { linkRoutes, overrideRoutes } from './links.js';
import { platformRoutes } from './platform.js';
import { createSettle, type AdminDeps, type AdminRoutes, type AdminState } from './requests.js';

const bearer = /^Bearer +(\S+) *$/i;
const defaultActor = 'admin';

const unauthorized = json(
  401,
  {
    statusCode: 401,
    message: 'Admin token required. Pass it as: Authorization: Bearer <ADMIN_TOKEN>',
    error: 'Unauthorized',
  },
  { 'WWW-Authenticate': 'Bearer' },
);

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
      readonly trustedProxies: ProxyTrust;
      readonly delivery: OutboxDelivery;
      readonly metrics: Pick<Metrics, 'text' | 'contentType'>;
    },
): Koa<RequestState> => {
  const expected = digest(deps.adminToken);
  const guesses = new GuessThrottle();

  /** `null` for the right token. A network that has to wait does not learn which token is right. */
  const refusalOf = (token: string, network: string): Reply | null => {
    const now = performance.now();
    const waitMs = guesses.waitMs(network, now);
    if (waitMs > 0) {
      const retryAfter = Math.ceil(waitMs / 1_000);
      const headers = { 'Retry-After': String(retryAfter) };
      return { ...failure(429, messages.tooManyAttempts, headers), retryAfter };
    }
    if (timingSafeEqual(digest(token), expected)) return null;
    guesses.countWrong(network, now);
    return unauthorized;
  };

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
    const token = bearer.exec(ctx.headers.authorization ?? '')?.[1];
    const refusal =
      token === undefined
        ? unauthorized
        : refusalOf(token, networkOf(clientAddress(ctx.req, deps.trustedProxies)));
    if (refusal) {
      send(ctx, refusal);
      return;
    }
    const actor = parseAs(operatorName, ctx.headers['x-actor'] ?? defaultActor);
    if (actor.type === 'refused') {
      send(ctx, actor.reply);
      return;
    }
    state.actor = { actor: actor.value, requestId: state.requestId };
    await router.dispatch(ctx);
  });
  return app;
};
