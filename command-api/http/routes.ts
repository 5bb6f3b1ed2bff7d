import type { Context } from 'koa';
import { noneStalled } from '../../ops/event-log/outbox/stalled-partitions.js';
import type { CallByHash } from '../admission/admission.js';
import { topics, type TopicName } from '../../schemas/events/topics.js';
import { addressedLink } from '../links/addressed-link.js';
import type { Scope } from '../../schemas/scopes.js';
import { json, send, type Reply } from './reply.js';
import { bodyReader, createDispatcher, type Handler, type Read, type Route } from './requests.js';
import {
  bearerKey,
  enter,
  scopeRefusal,
  usageOf,
  type Credential,
  type UnadmittedCall,
  type V2State,
} from '../admission/admitted-call.js';
import { createBulkHandler } from '../links/bulk/route.js';
import { createEventsHandler, type EventsDeps } from '../events/route.js';
import { createDomainHandlers, type DomainDeps } from '../domains/route.js';
import { createKeyHandlers } from '../keys/route.js';
import { createImportHandlers, type ImportDeps } from '../imports/route.js';
import { createExportHandler, type ExportDeps } from '../links/export/route.js';
import { createHistoryHandler } from '../links/history/route.js';
import { createListHandler } from '../links/list/route.js';
import { createLinkHandlers } from '../links/change/route.js';
import { createTagsHandler } from '../links/tags/route.js';
import { createQrHandler, type QrDeps } from '../links/qr/route.js';
import { createShortenHandlers, type ShortenDeps } from '../links/create/route.js';
import { createWebhookHandlers, type WebhookDeps } from '../webhooks/route.js';
import { createStatsHandlers } from '../statistics/route.js';

export type V2Deps = ShortenDeps &
  QrDeps &
  DomainDeps &
  EventsDeps &
  WebhookDeps &
  ExportDeps &
  ImportDeps;

export interface V2Route extends Route<V2State> {
  /** The required scope of the key, or `null`. */
  readonly scope: Scope | null;
  /** Maximum length of the body (bytes). A route without it reads no body. */
  readonly bodyLimit?: number;
  /** Whether the route needs the log (503 while that is unavailable). Default: the method is not GET. */
  readonly writes?: boolean;
  /** The topic of its events; by default that of links. */
  readonly topic?: TopicName;
  /** Whether a call counts toward the month. Default: true. All calls count toward the minute. */
  readonly metered?: boolean;
  /** Admits the call itself. Returns `null` for a request that must be admitted before its route. */
  readonly combined?: (ctx: Context, state: V2State, call: UnadmittedCall) => Promise<Reply | null>;
}

/** Bytes. */
export const bodyLimits = { one: 65_536, batch: 524_288 };

/** The routes under /v2; each is in `openapi/operations.ts` too. */
export const v2Routes = (deps: V2Deps): readonly V2Route[] => {
  const { plans } = deps;
  const links = createShortenHandlers(deps);
  const stats = createStatsHandlers(deps);
  const managed = createLinkHandlers(deps);
  const domains = createDomainHandlers(deps);
  const topic = topics.accounts.name;
  const domainScope = { scope: 'domains:manage', topic } as const;
  const domainRoute = { path: '/domains/:domain', ...domainScope } as const;
  const keys = createKeyHandlers(deps);
  const keyRoute = { scope: 'keys:manage', metered: false, topic } as const;
  const withBody = { bodyLimit: bodyLimits.one };
  const webhooks = createWebhookHandlers(deps);
  const imports = createImportHandlers(deps);
  const importScope = { scope: 'links:import' } as const;
  const webhookScope = { scope: 'webhooks:manage', topic } as const;
  const webhookRoute = { path: '/webhooks/:id', ...webhookScope } as const;

  const usage: Handler<V2State> = (_ctx, { call }) => json(200, usageOf(call, plans));

  return [
    {
      method: 'POST',
      path: '/shorten',
      scope: 'links:create',
      bodyLimit: bodyLimits.one,
      handler: links.shorten,
      combined: links.admitAndCreate,
    },
    {
      method: 'POST',
      path: '/shorten/batch',
      scope: 'links:create',
      bodyLimit: bodyLimits.batch,
      handler: links.shortenBatch,
    },
    // This GET costs a QR code, in a transaction that does not need the log.
    { method: 'GET', path: '/qr/:shortCode', scope: 'qr:read', handler: createQrHandler(deps) },
    { method: 'GET', path: '/stats', scope: 'stats:read', handler: stats.account },
    { method: 'GET', path: '/stats/:shortCode', scope: 'stats:read', handler: stats.link },
    { method: 'GET', path: '/links', scope: 'links:read', handler: createListHandler(deps) },
    { method: 'GET', path: '/tags', scope: 'links:read', handler: createTagsHandler(deps) },
    { method: 'GET', path: '/export', scope: 'links:read', handler: createExportHandler(deps) },
    {
      method: 'POST',
      path: '/links/bulk',
      scope: 'links:write',
      bodyLimit: bodyLimits.one,
      handler: createBulkHandler(deps),
    },
    {
      method: 'GET',
      path: '/links/:shortCode',
      scope: 'links:read',
      handler: managed.show,
    },
    {
      method: 'PATCH',
      path: '/links/:shortCode',
      scope: 'links:write',
      bodyLimit: bodyLimits.one,
      handler: managed.change,
    },
    {
      method: 'DELETE',
      path: '/links/:shortCode',
      scope: 'links:write',
      handler: managed.remove,
    },
    {
      method: 'GET',
      path: '/links/:shortCode/history',
      scope: 'links:read',
      handler: createHistoryHandler(deps),
    },
    {
      method: 'POST',
      path: '/domains',
      ...domainScope,
      ...withBody,
      handler: domains.claim,
    },
    { method: 'GET', path: '/domains', scope: 'links:read', handler: domains.list },
    { method: 'GET', path: '/domains/:domain', scope: 'links:read', handler: domains.show },
    { method: 'PATCH', ...domainRoute, ...withBody, handler: domains.change },
    { method: 'DELETE', ...domainRoute, handler: domains.release },
    {
      method: 'POST',
      path: '/domains/:domain/verify',
      ...domainScope,
      handler: domains.verify,
    },
    { method: 'GET', path: '/events', scope: 'events:read', handler: createEventsHandler(deps) },
    {
      ...{ method: 'POST', path: '/webhooks', ...webhookScope, ...withBody },
      handler: webhooks.create,
    },
    { method: 'GET', path: '/webhooks', ...webhookScope, handler: webhooks.list },
    { method: 'GET', ...webhookRoute, handler: webhooks.show },
    { method: 'PATCH', ...webhookRoute, ...withBody, handler: webhooks.change },
    { method: 'DELETE', ...webhookRoute, handler: webhooks.remove },
    {
      ...{ method: 'POST', path: '/webhooks/:id/rotate', ...webhookScope, ...withBody },
      handler: webhooks.rotate,
    },
    {
      ...{ method: 'POST', path: '/webhooks/:id/test', ...webhookScope },
      handler: webhooks.test,
    },
    {
      ...{ method: 'GET', path: '/webhooks/:id/deliveries', ...webhookScope },
      handler: webhooks.deliveries,
    },
    {
      ...{ method: 'POST', path: '/webhooks/:id/deliveries/:deliveryId/retry', ...webhookScope },
      handler: webhooks.retry,
    },
    {
      ...{ method: 'POST', path: '/webhooks/:id/replay', ...webhookScope, ...withBody },
      handler: webhooks.replay,
    },
    { method: 'POST', path: '/imports', ...importScope, handler: imports.start },
    { method: 'GET', path: '/imports', ...importScope, handler: imports.list },
    { method: 'GET', path: '/imports/:id', ...importScope, handler: imports.show },
    { method: 'DELETE', path: '/imports/:id', ...importScope, handler: imports.stop },
    { method: 'GET', path: '/imports/:id/rows', ...importScope, handler: imports.rows },
    { method: 'GET', path: '/usage', scope: null, handler: usage, metered: false },
    { method: 'GET', path: '/keys', ...keyRoute, handler: keys.list },
    { method: 'POST', path: '/keys', ...keyRoute, ...withBody, handler: keys.make },
    { method: 'PATCH', path: '/keys/:id', ...keyRoute, ...withBody, handler: keys.patch },
    { method: 'DELETE', path: '/keys/:id', ...keyRoute, handler: keys.revoke },
    { method: 'POST', path: '/keys/:id/rotate', ...keyRoute, ...withBody, handler: keys.rotate },
  ];
};

/** Checks body and scope, in the contract's order. */
const refusalOf = (
  { scope }: V2Route,
  body: Read<string> | undefined,
  { call }: V2State,
): Reply | null => {
  if (body?.type === 'refused') return body.reply;
  return scopeRefusal(scope, call);
};

/** Adds the checks of body and scope to a route's handler. */
const withChecks = (route: V2Route) => {
  const readBody = route.bodyLimit === undefined ? undefined : bodyReader(route.bodyLimit);
  const handler: Handler<V2State> = async (ctx, state, parameter) => {
    const body = await readBody?.(ctx);
    if (body?.type === 'read') state.body = body.value;
    return refusalOf(route, body, state) ?? route.handler(ctx, state, parameter);
  };
  return { ...route, readBody, handler };
};

/** The routes under a prefix, with the contract's order of checks. */
export const createV2 = (
  deps: V2Deps,
  routes = v2Routes(deps),
  prefix = '/v2',
  authenticate = bearerKey,
) => {
  const router = createDispatcher(prefix, routes.map(withChecks));

  /** What admission needs to know of the request. */
  const requirementsOf = (method: string, path: string) => {
    const { ofPath, found, parameters } = router.match(path, method);
    return {
      // A POST to an unknown path gets the 503 of an unavailable log, too.
      writes: found ? (found.writes ?? found.method !== 'GET') : method === 'POST',
      metered: !ofPath.some((route) => route.metered === false),
      ...{ found, parameters },
    };
  };

  /** Whether the partition of a request's events, if known, or every partition of its topic is stalled. */
  const isStalled = (
    ctx: Context,
    found: V2Route | undefined,
    parameters: Readonly<Record<string, string>>,
  ): boolean => {
    const { stalled } = ctx.state as V2State;
    const topic = found?.topic ?? topics.links.name;
    if (!found?.path.includes(':shortCode')) return stalled.includesAll(topic);
    const link = addressedLink(ctx, (name) => parameters[name] ?? '');
    return link.type === 'read' && stalled.includes(topic, link.value);
  };

  /** Only for recently admitted keys: the body of an unauthenticated request is not read. */
  const admitAndHandle = async (
    ctx: Context,
    route: ReturnType<typeof withChecks> | undefined,
    call: CallByHash & Credential,
  ): Promise<Reply | null> => {
    if (!route?.combined || !route.readBody) return null;
    if (!deps.admission.wasAdmittedRecently(call.keyHash)) return null;
    const body = await route.readBody(ctx);
    return route.combined(ctx, ctx.state, {
      call,
      body,
      scope: route.scope,
      enter: (admitted) =>
        enter(ctx, ctx.state, deps, call, admitted) ?? refusalOf(route, body, ctx.state),
    });
  };

  const handle = async (ctx: Context): Promise<void> => {
    // Set first, so that error responses have it, too.
    (ctx.state as V2State).headers['Cache-Control'] = 'no-store';
    const { writes, metered, found, parameters } = requirementsOf(ctx.method, ctx.path);
    const state = ctx.state as V2State;
    state.stalled = writes ? await deps.delivery.stalled() : noneStalled;
    const logUnavailable = !state.stalled.areNone && isStalled(ctx, found, parameters);
    const call = { metered, logUnavailable, ...(await authenticate(ctx)) };
    state.keyHash = call.keyHash ?? '';
    state.sessionHash = call.sessionHash ?? null;
    state.reserveCalls = (count) =>
      deps.admission.reserveCalls(state.call.key, count, call.keyHash);
    const reply =
      (await admitAndHandle(ctx, found, call)) ??
      enter(ctx, ctx.state, deps, call, await deps.admission.admit(call));
    if (reply) send(ctx, reply);
    else await router.dispatch(ctx);
  };
  return { handle, routeOf: (path: string) => router.routeOf(path), requirementsOf };
};
