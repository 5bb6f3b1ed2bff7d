import { createHash, timingSafeEqual } from 'node:crypto';
import Router from '@koa/router';
import type { OutboxDelivery } from '../../../ops/platform/outbox/port.js';
import type { Context, default as Koa } from 'koa';
import type { Metrics } from '../../../ops/platform/metrics/metrics.js';
import { messages } from '../../../schemas/http/errors.js';
import type { PlanTable } from '../../../schemas/plans.js';
import type { AliasOverrideHandler } from '../../ledger/alias-overrides.js';
import type { LinkBlockHandler } from '../../ledger/link-blocks.js';
import type { PlatformHandler } from '../../ledger/platform.js';
import type { FindLinkHistory } from '../../reports/link-history.js';
import type { ApiKeyHandler } from '../../ledger/api-keys.js';
import { createApp, type AppDeps, type RequestState } from '../app.js';
import { failure, json, send } from '../reply.js';
import { dispatcher, routeFinder } from '../requests.js';
import { addKeyRoutes } from './keys.js';
import { addLinkRoutes, addOverrideRoutes } from './links.js';
import { addPlatformRoutes } from './platform.js';
import { createSettle, type AdminState } from './requests.js';

const bearer = /^Bearer +(\S+) *$/i;
const actorPattern = /^[\x21-\x7e]{1,64}$/;
const defaultActor = 'admin';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

export interface AdminDeps extends AppDeps {
  readonly adminToken: string;
  readonly keys: ApiKeyHandler;
  readonly platform: PlatformHandler;
  readonly linkBlocks: LinkBlockHandler;
  readonly overrides: AliasOverrideHandler;
  readonly findHistory: FindLinkHistory;
  readonly delivery: OutboxDelivery;
  readonly plans: PlanTable;
  readonly metrics: Pick<Metrics, 'text' | 'contentType'>;
}

/**
 * The operators' application: /admin/* behind the admin token, and /metrics without one, since
 * scrapers have none and nothing in it is secret.
 */
export const createAdminApp = (deps: AdminDeps): Koa<RequestState> => {
  const expected = digest(deps.adminToken);
  const isAdmin = (authorization: string | undefined): boolean =>
    timingSafeEqual(digest(bearer.exec(authorization ?? '')?.[1] ?? ''), expected);

  const router = new Router({ prefix: '/admin', sensitive: true, strict: true });
  const settle = createSettle(deps.delivery);
  addKeyRoutes(router, deps.keys, deps.plans, settle);
  addPlatformRoutes(router, deps.platform, settle);
  addLinkRoutes(router, deps.linkBlocks, deps.findHistory, settle);
  addOverrideRoutes(router, deps.overrides, settle);
  const dispatch = dispatcher(router);
  const findRoute = routeFinder(router);
  const app = createApp(deps, (path) => (path === '/metrics' ? path : findRoute(path)));

  const sendMetrics = async (ctx: Context): Promise<void> => {
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      send(ctx, failure(405, messages.methodNotAllowed, { Allow: 'GET, HEAD' }));
      return;
    }
    const { contentType } = deps.metrics;
    send(ctx, { type: 'raw', status: 200, contentType, body: await deps.metrics.text() });
  };

  app.use(async (ctx) => {
    const state = ctx.state as AdminState;
    ctx.set('Cache-Control', 'no-store');
    if (ctx.path === '/metrics') {
      await sendMetrics(ctx);
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
    await dispatch(ctx);
  });
  return app;
};
