import type Koa from 'koa';
import type { Context } from 'koa';
import { bearerToken, tokenMatcher, type MetricsAccess } from '../../ops/http/metrics-access.js';
import type { ProxyTrust } from '../../ops/http/client-address.js';
import type { Metrics } from '../../ops/platform/metrics/metrics.js';
import { messages } from '../../schemas/http/errors.js';
import { browserPaths } from './static-files.js';
import { actorHeader } from '../../schemas/http/operators.js';
import { createApp, metricsRoute, type AppDeps, type RequestState } from './app.js';
import { isConsolePath } from '../console/server/console.js';
import { operatorsConsole } from '../console/server/operators.js';
import { createGuesses } from './guesses.js';
import { failure, json, send, type Reply } from './reply.js';
import { actorIn } from './request-actor.js';
import { createDispatcher, parseAs } from './requests.js';
import { consoleRoutes } from '../console/server/route.js';
import { eventRoutes } from '../events/operator-route.js';
import { webhookRoutes } from '../webhooks/operator-route.js';
import { domainRoutes } from '../domains/operator-route.js';
import { keyRoutes } from '../keys/operator-route.js';
import { overrideRoutes } from '../aliases/route.js';
import { importRoutes } from '../imports/operator-route.js';
import { createRoutes } from '../links/create/operator-route.js';
import { blockRoutes } from '../links/block/route.js';
import { exportRoutes } from '../links/export/operator-route.js';
import { historyRoutes } from '../links/history/operator-route.js';
import { listRoutes } from '../links/list/operator-route.js';
import { managedLinkRoutes } from '../links/change/operator-route.js';
import { platformRoutes } from '../platform/route.js';
import { statsRoutes } from '../statistics/operator-route.js';
import { changeRoutes } from '../changes/route.js';
import { processRoutes } from '../platform/processes-route.js';
import { projectionRoutes } from '../projections/route.js';
import {
  createRespond,
  type AdminDeps,
  type AdminRoutes,
  type AdminState,
} from './operator-requests.js';

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

/** Every route under /admin. */
export const adminRoutes: AdminRoutes = (deps) =>
  [
    ...[keyRoutes, domainRoutes, consoleRoutes, platformRoutes],
    ...[blockRoutes, historyRoutes, listRoutes, exportRoutes, managedLinkRoutes, importRoutes],
    createRoutes,
    ...[overrideRoutes, projectionRoutes, eventRoutes, webhookRoutes],
    ...[statsRoutes, changeRoutes, processRoutes],
  ].flatMap((routes) => routes(deps));

/**
 * The operators' application: /admin/* with the admin token, and /metrics with the metrics token or the admin token.
 */
export const createAdminApp = (
  deps: AppDeps &
    Omit<AdminDeps, 'respond'> & {
      readonly adminToken: string;
      readonly trustedProxies: ProxyTrust;
      readonly hasConsole: boolean;
      readonly metrics: Pick<Metrics, 'scrape' | 'contentType'>;
      readonly metricsAccess: MetricsAccess;
    },
): Koa<RequestState> => {
  const isAdminToken = tokenMatcher([deps.adminToken]);
  const guesses = createGuesses(deps.trustedProxies);

  /** `null` for a valid token. */
  const refusalOf = (ctx: Context, token: string): Reply | null =>
    isAdminToken(token) ? null : guesses.refuse(ctx, unauthorized);

  const routes = adminRoutes({ ...deps, respond: createRespond(deps.delivery) });
  const router = createDispatcher('/admin', routes);
  const console = deps.hasConsole ? operatorsConsole({ ...deps, refusalOf }, routes) : null;
  const app = createApp(deps, (path) => {
    if (path === '/metrics' || path === '/' || path === '/favicon.ico') return path;
    return console && isConsolePath(path) ? console.routeOf(path) : router.routeOf(path);
  });

  app.use(browserPaths(deps.hasConsole));
  app.use(metricsRoute({ ...deps, guesses }));
  app.use(async (ctx) => {
    const state = ctx.state as AdminState;
    ctx.set('Cache-Control', 'no-store');
    if (console && isConsolePath(ctx.path)) {
      await console.handle(ctx);
      return;
    }
    if (!ctx.path.startsWith('/admin/')) {
      send(ctx, failure(404, messages.notFound));
      return;
    }
    const token = bearerToken(ctx.headers);
    const refusal = token === undefined ? unauthorized : refusalOf(ctx, token);
    if (refusal) {
      send(ctx, refusal);
      return;
    }
    const actor = parseAs(actorHeader, ctx.headers['x-actor'] ?? defaultActor);
    if (actor.type === 'refused') {
      send(ctx, actor.reply);
      return;
    }
    state.actor = actorIn(state, actor.value);
    await router.dispatch(ctx);
  });
  return app;
};
