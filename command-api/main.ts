import type { RequestListener } from 'node:http';
import type Koa from 'koa';
import type { Config } from '../ops/platform/config/config.js';
import type { HealthCheck } from '../ops/platform/http/health.js';
import { onlyForHosts } from '../ops/platform/http/known-hosts.js';
import { ownHosts } from '../ops/platform/http/own-hosts.js';
import { listen, type HttpListener } from '../ops/platform/http/server.js';
import type { Logger } from '../ops/platform/logging.js';
import type { Metrics } from '../ops/platform/metrics/metrics.js';
import type { Outbox, OutboxDelivery } from '../ops/platform/outbox/port.js';
import { periodically } from '../ops/platform/concurrency/periodic.js';
import type { PasswordHasher } from '../ops/platform/passwords/password-hasher.js';
import { advisoryLocks } from '../ops/platform/postgres/advisory-locks.js';
import { transaction, type Pool } from '../ops/platform/postgres/pool.js';
import { ownActors } from '../schemas/decision.js';
import { messages } from '../schemas/http/errors.js';
import { scopeNames } from '../schemas/scopes.js';
import { createAdminApp } from './http/admin/app.js';
import { createApp, type AppDeps, type RequestState } from './http/app.js';
import { documentation } from './http/docs/files.js';
import { failure, send } from './http/reply.js';
import { createV2, type V2Deps } from './http/v2/routes.js';
import { LedgerClock, readClockMs } from '../ops/ledger/clock.js';
import { createLinkBlockHandler } from './ledger/link-blocks.js';
import { createAdmission } from './ledger/admission.js';
import { createApiKeyHandler, type IssuedKey } from './ledger/api-keys.js';
import { createClockWatch } from './ledger/clock-watch.js';
import { expireDueLinks } from './ledger/expiry.js';
import { forgetAnswers } from './ledger/kept-answers.js';
import { closeMinutes } from './ledger/metering.js';
import { exposeApi } from './metrics.js';
import { createRecheck, recheckSchedule } from './safety/recheck.js';
import type { WebSafety } from './safety/web-safety.js';

export interface CommandApiDeps {
  readonly config: Pick<
    Config,
    'api' | 'admin' | 'ownHosts' | 'plans' | 'trustedProxies' | 'upgradeUrl'
  >;
  readonly adminToken: string;
  readonly shortUrlHost: string;
  /** Where the edge of this process listens, if it has one: no destination may lead there. */
  readonly edge: Pick<HttpListener, 'host' | 'port'> | null;
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
  readonly passwords: PasswordHasher;
  readonly safety: WebSafety;
  readonly health: HealthCheck;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/** The clients' application: /v2/*, health, and the documentation of both. */
const createApiApp = (deps: V2Deps & AppDeps): Koa<RequestState> => {
  const v2 = createV2(deps);
  const docs = documentation();
  const app = createApp(deps, (path) => (docs.has(path) ? path : v2.routeOf(path)));
  app.use(docs.serve);
  app.use(async (ctx) => {
    if (ctx.path === '/v2' || ctx.path.startsWith('/v2/')) await v2.handle(ctx);
    else send(ctx, failure(404, messages.notFound));
  });
  return app;
};

const listener = (app: Koa<RequestState>): RequestListener => {
  const handle = app.callback();
  return (request, response) => {
    // Koa answers its own errors; the promise never rejects.
    void handle(request, response);
  };
};

/** Starts the command API, the operators' listener, and the ledger's periodic work. */
export const startCommandApi = async (deps: CommandApiDeps) => {
  const { config, pool, outbox, safety, metrics, logger } = deps;
  const { plans, upgradeUrl } = config;
  const keys = createApiKeyHandler(pool, outbox);
  const adminApp = createAdminApp({
    ...deps,
    plans,
    trustedProxies: config.trustedProxies,
    requests: metrics.requests('admin'),
  });
  const clock = new LedgerClock(pool);
  const watch = createClockWatch(pool, clock, logger);
  await watch.look();
  const admission = createAdmission(pool, clock, plans);
  exposeApi(metrics, admission.counts, safety, watch);
  const admin = await listen('ADMIN', config.admin, config.trustedProxies, () => ({
    http: onlyForHosts(config.admin.names, listener(adminApp)),
  }));
  const api = await listen('API', config.api, config.trustedProxies, (own) => {
    const isOwnHost = ownHosts(
      [deps.shortUrlHost, ...config.ownHosts],
      [own, admin, ...(deps.edge ? [deps.edge] : [])],
    );
    const requests = metrics.requests('api');
    const app = createApiApp({ ...deps, clock, admission, plans, upgradeUrl, isOwnHost, requests });
    return { http: listener(app) };
  });

  const tasks = [
    { name: 'expire links', everyMs: 1_000, task: () => expireDueLinks(pool, outbox, clock) },
    { name: 'close minutes', everyMs: 5_000, task: () => closeMinutes(pool, outbox) },
    { name: 'forget answers', everyMs: 600_000, task: () => forgetAnswers(pool, clock) },
    { name: "read PostgreSQL's clock", everyMs: readClockMs, task: watch.look },
    {
      name: 'read the blocklist',
      everyMs: 2_000,
      task: async () => {
        await safety.refresh();
        return 0;
      },
    },
    {
      name: 'check links again',
      everyMs: 1_000,
      task: createRecheck({
        pool,
        safety: safety.recheckers,
        blocks: createLinkBlockHandler(pool, outbox),
        schedule: recheckSchedule,
        logger,
      }),
    },
  ].map((task) => periodically({ ...task, logger }));

  return {
    api,
    admin,
    /** Makes the first key of a new installation; `null` where there are keys already. */
    issueFirstKey: (): Promise<IssuedKey | null> =>
      // APIs that start at once must not make one each.
      transaction(pool, async (tx) => {
        await tx.query('SELECT pg_advisory_xact_lock($1)', [advisoryLocks.firstKey]);
        if (await keys.any()) return null;
        const actor = { actor: ownActors.system, requestId: 'first-start' };
        const key = { name: 'first-key', plan: 'PRO', account: 'default' } as const;
        return keys.issue({ ...key, scopes: scopeNames, expiresIn: null }, actor);
      }),
    async stop(graceMs: number): Promise<void> {
      await Promise.all([
        api.stop(graceMs),
        admin.stop(graceMs),
        ...tasks.map((task) => task.stop()),
      ]);
    },
  };
};
