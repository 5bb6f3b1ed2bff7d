import type { Context } from 'koa';
import type { CallByHash } from '../admission/admission.js';
import type { Scope } from '../../schemas/scopes.js';
import { json, send, type Reply } from './reply.js';
import { bodyReader, createDispatcher, type Handler, type Read, type Route } from './requests.js';
import {
  bearerKey,
  enter,
  scopeLacking,
  usageOf,
  type Credential,
  type UnadmittedCall,
  type V2State,
} from '../admission/admitted-call.js';
import { createBulkHandler } from '../links/bulk/route.js';
import { createKeyHandlers } from '../keys/route.js';
import { createHistoryHandler } from '../links/history/route.js';
import { createListHandler } from '../links/list/route.js';
import { createLinkHandlers } from '../links/change/route.js';
import { createQrHandler, type QrDeps } from '../links/qr/route.js';
import { createShortenHandlers, type ShortenDeps } from '../links/create/route.js';
import { createStatsHandlers } from '../statistics/route.js';

export type V2Deps = ShortenDeps & QrDeps;

export interface V2Route extends Route<V2State> {
  /** What the key must be allowed to do; `null`: nothing. */
  readonly scope: Scope | null;
  /** Bytes that the body may have; by default, there is none: it is not read. */
  readonly bodyLimit?: number;
  /** Needs the log: 503 while that is away. By default, every route whose method is not GET. */
  readonly writes?: boolean;
  /** Costs a call of the month. Default: true; calls that cost none count for the minute alone. */
  readonly metered?: boolean;
  /** Admits the call itself, and answers; `null`: this request goes the way of all others. */
  readonly atOnce?: (ctx: Context, state: V2State, call: UnadmittedCall) => Promise<Reply | null>;
}

/** Bytes. */
export const bodyLimits = { one: 65_536, batch: 524_288 };

/** The routes under /v2; each is in `openapi/operations.ts` too. */
export const v2Routes = (deps: V2Deps): readonly V2Route[] => {
  const { plans } = deps;
  const links = createShortenHandlers(deps);
  const stats = createStatsHandlers(deps);
  const managed = createLinkHandlers(deps);
  const keys = createKeyHandlers(deps);
  const ofKeys = { scope: 'keys:manage', metered: false } as const;
  const withBody = { bodyLimit: bodyLimits.one };

  const usage: Handler<V2State> = (_ctx, { call }) => json(200, usageOf(call, plans));

  return [
    {
      method: 'POST',
      path: '/shorten',
      scope: 'links:create',
      bodyLimit: bodyLimits.one,
      handler: links.shorten,
      atOnce: links.shortenAtOnce,
    },
    {
      method: 'POST',
      path: '/shorten/batch',
      scope: 'links:create',
      bodyLimit: bodyLimits.batch,
      handler: links.shortenBatch,
    },
    // A GET spends a QR code, in a transaction that waits for no log.
    { method: 'GET', path: '/qr/:shortCode', scope: 'qr:read', handler: createQrHandler(deps) },
    { method: 'GET', path: '/stats', scope: 'stats:read', handler: stats.account },
    { method: 'GET', path: '/stats/:shortCode', scope: 'stats:read', handler: stats.link },
    { method: 'GET', path: '/links', scope: 'links:read', handler: createListHandler(deps) },
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
    { method: 'GET', path: '/usage', scope: null, handler: usage, metered: false },
    { method: 'GET', path: '/keys', ...ofKeys, handler: keys.list },
    { method: 'POST', path: '/keys', ...ofKeys, ...withBody, handler: keys.make },
    { method: 'PATCH', path: '/keys/:id', ...ofKeys, ...withBody, handler: keys.patch },
    { method: 'DELETE', path: '/keys/:id', ...ofKeys, handler: keys.revoke },
    { method: 'POST', path: '/keys/:id/rotate', ...ofKeys, ...withBody, handler: keys.rotate },
  ];
};

/** What body and scope refuse, in the contract's order. */
const refusalOf = (
  { scope }: V2Route,
  body: Read<string> | undefined,
  { call }: V2State,
): Reply | null => {
  if (body?.type === 'refused') return body.reply;
  return scope === null || call.key.scopes.includes(scope) ? null : scopeLacking(scope);
};

/** A route whose handler stands behind the checks of body and scope. */
const checked = (route: V2Route) => {
  const readBody = route.bodyLimit === undefined ? undefined : bodyReader(route.bodyLimit);
  const handler: Handler<V2State> = async (ctx, state, parameter) => {
    const body = await readBody?.(ctx);
    if (body?.type === 'read') state.body = body.value;
    return refusalOf(route, body, state) ?? route.handler(ctx, state, parameter);
  };
  return { ...route, readBody, handler };
};

/** Everything under a prefix, in the contract's order of checks. */
export const createV2 = (
  deps: V2Deps,
  routes = v2Routes(deps),
  prefix = '/v2',
  authenticate = bearerKey,
) => {
  const router = createDispatcher(prefix, routes.map(checked));

  /** What admission has to know of a request before its route runs. */
  const requirementsOf = (method: string, path: string) => {
    const { ofPath, found } = router.match(path, method);
    return {
      // A POST to an unknown path is told that the log is away, too.
      writes: found ? (found.writes ?? found.method !== 'GET') : method === 'POST',
      metered: !ofPath.some((route) => route.metered === false),
      found,
    };
  };

  /** For keys that were admitted lately: of a stranger's request, not even the body is read. */
  const answerAtOnce = async (
    ctx: Context,
    route: ReturnType<typeof checked> | undefined,
    call: CallByHash & Credential,
  ): Promise<Reply | null> => {
    if (!route?.atOnce || !route.readBody) return null;
    if (!deps.admission.wasAdmittedLately(call.keyHash)) return null;
    const body = await route.readBody(ctx);
    return route.atOnce(ctx, ctx.state, {
      call,
      body,
      enter: (admitted) =>
        enter(ctx, ctx.state, deps, call, admitted) ?? refusalOf(route, body, ctx.state),
    });
  };

  const handle = async (ctx: Context): Promise<void> => {
    // Before anything can fail: the error's answer has it too.
    (ctx.state as V2State).headers['Cache-Control'] = 'no-store';
    const { writes, metered, found } = requirementsOf(ctx.method, ctx.path);
    const held = writes && (await deps.delivery.isStalled());
    const call = { metered, held, ...(await authenticate(ctx)) };
    const state = ctx.state as V2State;
    state.takeFurther = (count) => deps.admission.takeFurther(state.call.key, count, call.keyHash);
    const reply =
      (await answerAtOnce(ctx, found, call)) ??
      enter(ctx, ctx.state, deps, call, await deps.admission.admit(call));
    if (reply) send(ctx, reply);
    else await router.dispatch(ctx);
  };
  return { handle, routeOf: (path: string) => router.routeOf(path), requirementsOf };
};
