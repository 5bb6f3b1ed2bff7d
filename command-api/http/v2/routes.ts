import Router from '@koa/router';
import type { Context } from 'koa';
import { messages } from '../../../schemas/http/errors.js';
import type { UsageResponse } from '../../../schemas/http/reports.js';
import { shortCodePattern } from '../../../schemas/http/shorten.js';
import type { AdmissionDesk } from '../../ledger/admission.js';
import type { FindLinkStats } from '../../reports/link-stats.js';
import { failure, json, send, type Reply } from '../reply.js';
import { admitRequest, type V2State } from './pass.js';
import { createShortenHandler, type ShortenDeps } from './shorten.js';

export interface V2Deps extends ShortenDeps {
  readonly admission: AdmissionDesk;
  readonly findStats: FindLinkStats;
}

type Handler = (ctx: Context, state: V2State, code: string) => Promise<Reply> | Reply;

/** The methods that a path answers, or none. */
const methodsOf = (router: Router, path: string): readonly string[] => [
  ...new Set(router.match(path, '').path.flatMap(({ methods }) => methods)),
];

/** Everything under /v2, in the contract's order of checks. */
export const createV2 = (deps: V2Deps): ((ctx: Context) => Promise<void>) => {
  const { plans, upgradeUrl } = deps;

  const usage: Handler = (_ctx, { pass }) => {
    const plan = plans.plans[pass.key.plan];
    const body: UsageResponse = {
      plan: pass.key.plan,
      calls: { used: pass.usage.calls, limit: plan.monthlyCalls },
      links: { used: pass.usage.links, limit: plan.monthlyLinks },
      qrCodes: { used: pass.usage.qrCodes, limit: plan.monthlyQrCodes },
      resetDate: pass.usage.resetDate,
    };
    return json(200, body);
  };

  const stats: Handler = async (_ctx, { pass }, code) => {
    const found = shortCodePattern.test(code) ? await deps.findStats(code) : null;
    // Another account's link is none of the asker's business, its existence included.
    if (found?.account !== pass.key.account) return failure(404, messages.codeNotFound);
    return json(200, found.stats);
  };

  const router = new Router({ prefix: '/v2', sensitive: true, strict: true });
  const route =
    (handler: Handler) => async (ctx: Context & { params?: Record<string, string> }) => {
      send(ctx, await handler(ctx, ctx.state, ctx.params?.['shortCode'] ?? ''));
    };
  router.post('/shorten', route(createShortenHandler(deps)));
  router.get('/stats/:shortCode', route(stats));
  router.get('/usage', route(usage));
  const routes = router.routes();

  return async (ctx) => {
    const refusal = await admitRequest(ctx, ctx.state, deps.admission, {
      metered: ctx.path !== '/v2/usage',
      callLimit: ({ key }) => plans.plans[key.plan].monthlyCalls ?? 0,
      upgradeUrl,
    });
    ctx.set('Cache-Control', 'no-store');
    if (refusal) {
      send(ctx, refusal);
      return;
    }
    const methods = methodsOf(router, ctx.path);
    if (methods.length === 0) send(ctx, failure(404, messages.notFound));
    else if (!methods.includes(ctx.method)) {
      send(ctx, failure(405, messages.methodNotAllowed, { Allow: methods.join(', ') }));
    } else await routes(ctx as never, () => Promise.resolve());
  };
};
