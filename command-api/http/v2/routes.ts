import Router from '@koa/router';
import type { Context } from 'koa';
import { messages } from '../../../schemas/http/errors.js';
import type { UsageResponse } from '../../../schemas/http/reports.js';
import { shortCodePattern } from '../../../schemas/http/shorten.js';
import type { Admission } from '../../ledger/admission.js';
import type { FindLinkStats } from '../../reports/link-stats.js';
import { failure, json, send } from '../reply.js';
import { dispatcher, route, routeFinder, type Handler } from '../routing.js';
import { batchRoute } from './batch.js';
import { admitRequest, type V2State } from './admitted-call.js';
import { createQrHandler, type QrDeps } from './qr.js';
import { shortenRoute, type ShortenDeps } from './shorten.js';

export interface V2Deps extends ShortenDeps, QrDeps {
  readonly admission: Admission;
  readonly findStats: FindLinkStats;
}

export interface V2 {
  handle(ctx: Context): Promise<void>;
  /** The pattern of the route that a path leads to. */
  routeOf(path: string): string | null;
}

/** The routes under /v2; each stands in `openapi/operations.ts` too. */
export const createV2Router = (deps: V2Deps): Router => {
  const { plans } = deps;

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
    const found = shortCodePattern.test(code) ? await deps.findStats(code) : null;
    // Another account's link is none of the actor's business, its existence included.
    if (found?.account !== call.key.account) return failure(404, messages.codeNotFound);
    return json(200, found.stats);
  };

  const router = new Router({ prefix: '/v2', sensitive: true, strict: true });
  router.post('/shorten', route(shortenRoute(deps)));
  router.post('/shorten/batch', route(batchRoute(deps)));
  router.get('/qr/:shortCode', route(createQrHandler(deps)));
  router.get('/stats/:shortCode', route(stats));
  router.get('/usage', route(usage));
  return router;
};

/** Everything under /v2, in the contract's order of checks. */
export const createV2 = (deps: V2Deps): V2 => {
  const { plans, upgradeUrl } = deps;
  const router = createV2Router(deps);
  const dispatch = dispatcher(router);

  const handle = async (ctx: Context): Promise<void> => {
    // Before anything can fail: the error's answer has it too.
    ctx.set('Cache-Control', 'no-store');
    const refusal = await admitRequest(ctx, ctx.state, deps.admission, {
      metered: ctx.path !== '/v2/usage',
      held: ctx.method === 'POST' && (await deps.delivery.isStalled()),
      callLimit: ({ key }) => plans.plans[key.plan].monthlyCalls ?? 0,
      upgradeUrl,
    });
    if (refusal) send(ctx, refusal);
    else await dispatch(ctx);
  };
  return { handle, routeOf: routeFinder(router) };
};
