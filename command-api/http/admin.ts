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
import type { SignIn } from '../people/oidc/provider.js';
import { createGuesses } from './guesses.js';
import { failure, json, send, type Reply } from './reply.js';
import { actorIn } from './request-actor.js';
import { createDispatcher, parseAs, type Route } from './requests.js';
import type { AdminState } from './row-handlers.js';
import { consoleHandlers } from '../console/server/route.js';
import { eventHandlers } from '../events/operator-route.js';
import { webhookHandlers } from '../webhooks/operator-route.js';
import { domainHandlers } from '../domains/operator-route.js';
import { keyHandlers } from '../keys/operator-route.js';
import { overrideHandlers } from '../aliases/route.js';
import { importHandlers } from '../imports/operator-route.js';
import { createHandlers } from '../links/create/operator-route.js';
import { blockHandlers } from '../links/block/route.js';
import { createExportHandler } from '../links/export/route.js';
import { createHistoryHandler } from '../links/history/route.js';
import { listHandlers } from '../links/list/operator-route.js';
import { managedLinkHandlers } from '../links/change/operator-route.js';
import { platformHandlers } from '../platform/route.js';
import { createShareHandlers } from '../shared-statistics/route.js';
import { statsHandlers } from '../statistics/operator-route.js';
import { peopleHandlers } from '../people/operator-route.js';
import { abuseHandlers } from '../abuse/route.js';
import { changeHandlers } from '../changes/route.js';
import { projectionHandlers } from '../projections/route.js';
import { documentText, operatorsDocument } from './openapi/document.js';
import {
  createRespond,
  operatorRoutes,
  type AdminDeps,
  type OperatorHandlers,
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

export const adminRoutes = (deps: AdminDeps): readonly Route<AdminState>[] => {
  const openApi = documentText(operatorsDocument(), deps.destinations);
  const handlers: OperatorHandlers = {
    ...keyHandlers(deps),
    ...domainHandlers(deps),
    ...consoleHandlers(deps),
    ...platformHandlers(deps),
    ...blockHandlers(deps),
    ...listHandlers(deps),
    ...managedLinkHandlers(deps),
    ...importHandlers(deps),
    ...createHandlers(deps),
    ...overrideHandlers(deps),
    ...projectionHandlers(deps),
    ...eventHandlers(deps),
    ...webhookHandlers(deps),
    ...statsHandlers(deps),
    ...createShareHandlers(deps),
    ...changeHandlers(deps),
    ...abuseHandlers(deps),
    ...peopleHandlers(deps),
    exportLinks: createExportHandler(deps),
    getLinkHistory: createHistoryHandler(deps),
    getOpenApi: () => json(200, openApi),
  };
  return operatorRoutes(handlers, deps.destinations);
};

/**
 * The operators' application: /admin/* with the admin token, and /metrics with the metrics token or the admin token.
 */
export const createAdminApp = (
  deps: AppDeps &
    Omit<AdminDeps, 'respond'> & {
      readonly adminToken: string;
      readonly trustedProxies: ProxyTrust;
      readonly hasConsole: boolean;
      readonly signIn: SignIn;
      readonly originOf: (ctx: Context) => string;
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
