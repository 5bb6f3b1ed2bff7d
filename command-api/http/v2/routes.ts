import type { Context } from 'koa';
import { messages } from '../../../schemas/http/errors.js';
import type { UsageResponse } from '../../../schemas/http/reports.js';
import { shortCodePattern } from '../../../schemas/http/shorten.js';
import type { Admission } from '../../ledger/admission.js';
import type { Scope } from '../../../schemas/scopes.js';
import { findLinkStats } from '../../reports/link-stats.js';
import { failure, json, send } from '../reply.js';
import { bodyReader, createDispatcher, type Handler, type Route } from '../requests.js';
import { admitRequest, scopeLacking, type V2State } from './admitted-call.js';
import { createQrHandler, type QrDeps } from './qr.js';
import { createShortenHandlers, type ShortenDeps } from './shorten.js';

export interface V2Deps extends ShortenDeps, QrDeps {
  readonly admission: Admission;
}

export interface V2Route extends Route<V2State> {
  /** What the key must be allowed to do; `null`: nothing. */
  readonly scope: Scope | null;
  /** Bytes that the body may have; by default, there is none: it is not read. */
  readonly bodyLimit?: number;
  /** Needs the log: 503 while that is away. By default, every route whose method is not GET. */
  readonly writes?: boolean;
  /** Costs a call of the month. Default: true; calls that cost none count for the minute alone. */
  readonly metered?: boolean;
}

/** Bytes. */
export const bodyLimits = { one: 65_536, batch: 524_288 };

/** The routes under /v2; each is in `openapi/operations.ts` too. */
export const v2Routes = (deps: V2Deps): readonly V2Route[] => {
  const { pool, outbox, plans } = deps;
  const links = createShortenHandlers(deps);

  const usage: Handler<V2State> = (_ctx, { call }) => {
    const plan = plans.plans[call.key.plan];
    const body: UsageResponse = {
      plan: call.key.plan,
      calls: { used: call.usage.calls, limit: plan.monthlyCalls },
      links: { used: call.usage.links, limit: plan.monthlyLinks },
      qrCodes: { used: call.usage.qrCodes, limit: plan.monthlyQrCodes },
      resetDate: call.usage.resetDate,
    };
    return json(200, body);
  };

  const stats: Handler<V2State> = async (_ctx, { call }, parameter) => {
    const code = parameter('shortCode');
    const found = shortCodePattern.test(code) ? await findLinkStats(pool, outbox, code) : null;
    // Another account's link is answered like one that does not exist.
    if (found?.account !== call.key.account) return failure(404, messages.codeNotFound);
    return json(200, found.stats);
  };

  return [
    {
      method: 'POST',
      path: '/shorten',
      scope: 'links:create',
      bodyLimit: bodyLimits.one,
      handler: links.shorten,
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
    { method: 'GET', path: '/stats/:shortCode', scope: 'stats:read', handler: stats },
    { method: 'GET', path: '/usage', scope: null, handler: usage, metered: false },
  ];
};

/** The handler of a route behind the checks of body and scope, in the contract's order. */
const checked = ({ scope, bodyLimit, handler }: V2Route): Handler<V2State> => {
  const readBody = bodyLimit === undefined ? null : bodyReader(bodyLimit);
  return async (ctx, state, parameter) => {
    const body = await readBody?.(ctx);
    if (body?.type === 'refused') return body.reply;
    if (body) state.body = body.value;
    const isAllowed = scope === null || state.call.key.scopes.includes(scope);
    return isAllowed ? handler(ctx, state, parameter) : scopeLacking(scope);
  };
};

/** Everything under /v2, in the contract's order of checks. */
export const createV2 = (deps: V2Deps, routes = v2Routes(deps)) => {
  const router = createDispatcher(
    '/v2',
    routes.map((route) => ({ ...route, handler: checked(route) })),
  );

  /** What admission has to know of a request before its route runs. */
  const requirementsOf = (method: string, path: string) => {
    const { ofPath, found } = router.match(path, method);
    return {
      // A POST to an unknown path is told that the log is away, too.
      writes: found ? (found.writes ?? found.method !== 'GET') : method === 'POST',
      metered: !ofPath.some((route) => route.metered === false),
    };
  };

  const handle = async (ctx: Context): Promise<void> => {
    // Before anything can fail: the error's answer has it too.
    ctx.set('Cache-Control', 'no-store');
    const { writes, metered } = requirementsOf(ctx.method, ctx.path);
    const held = writes && (await deps.delivery.isStalled());
    const refusal = await admitRequest(ctx, ctx.state, deps, { metered, held });
    if (refusal) send(ctx, refusal);
    else await router.dispatch(ctx);
  };
  return { handle, routeOf: (path: string) => router.routeOf(path), requirementsOf };
};
