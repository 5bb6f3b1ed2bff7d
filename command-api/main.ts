import type { RequestListener } from 'node:http';
import type Koa from 'koa';
import { customAlphabet } from 'nanoid';
import type { Config } from '../ops/platform/config/config.js';
import type { HealthCheck } from '../ops/platform/http/health.js';
import { listen, type HttpListener } from '../ops/platform/http/server.js';
import { readLinkStates } from '../ops/ledger/link-states.js';
import type { Logger } from '../ops/platform/logging.js';
import type { Metrics } from '../ops/platform/metrics/metrics.js';
import type { Outbox, OutboxDelivery } from '../ops/platform/outbox/port.js';
import { periodically } from '../ops/platform/concurrency/periodic.js';
import type { PasswordHasher } from '../ops/platform/passwords/password-hasher.js';
import { advisoryLocks } from '../ops/platform/postgres/advisory-locks.js';
import { transaction, type Pool } from '../ops/platform/postgres/pool.js';
import { noLink } from '../schemas/folds/link.js';
import { messages } from '../schemas/http/errors.js';
import { keyAlphabet } from './domain/key-token.js';
import { ownHosts } from './domain/own-hosts.js';
import { reservedAliases } from './domain/reserved-alias.js';
import { createAdminApp } from './http/admin/app.js';
import { createApp, type AppDeps, type RequestState } from './http/app.js';
import { documentation } from './http/docs/files.js';
import { failure, send } from './http/reply.js';
import { createIdempotency } from './http/v2/idempotency.js';
import { createLinkRequests } from './http/v2/link-requests.js';
import { createV2, type V2Deps } from './http/v2/routes.js';
import { createAliasOverrideHandler } from './ledger/alias-overrides.js';
import { createLinkBlockHandler } from './ledger/link-blocks.js';
import { createPlatformHandler } from './ledger/platform.js';
import { createLinkHistory } from './reports/link-history.js';
import { createAdmission } from './ledger/admission.js';
import { createApiKeyHandler, type IssuedKey } from './ledger/api-keys.js';
import { expireDueLinks } from './ledger/expiry.js';
import { forgetAnswers } from './ledger/kept-answers.js';
import { closeMinutes } from './ledger/metering.js';
import { exposeApi } from './metrics.js';
import { createQrCodeQuota } from './ledger/qr-codes.js';
import { createShortenHandler } from './ledger/shorten.js';
import { createLinkStats } from './reports/link-stats.js';
import { readReservedWords } from './reserved-words.js';
import { createRecheck, recheckSchedule } from './safety/recheck.js';
import type { WebSafety } from './safety/web-safety.js';

/** 62^8 codes: a collision is rare, and found when the code is taken. */
const codeLength = 8;

export interface CommandApiDeps {
  readonly config: Pick<Config, 'api' | 'admin' | 'ownHosts' | 'plans' | 'upgradeUrl'>;
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
const createApiApp = (deps: V2Deps, appDeps: AppDeps): Koa<RequestState> => {
  const v2 = createV2(deps);
  const docs = documentation();
  const app = createApp(appDeps, (path) => (docs.has(path) ? path : v2.routeOf(path)));
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
  const { config, pool, outbox, delivery, safety, health, metrics, logger } = deps;
  const { plans, upgradeUrl } = config;
  const generateCode = customAlphabet(keyAlphabet, codeLength);
  const keys = createApiKeyHandler(pool, outbox);
  const findReservation = reservedAliases(readReservedWords());

  const overrides = createAliasOverrideHandler(pool, outbox);
  const linkBlocks = createLinkBlockHandler(pool, outbox);
  const adminApp = createAdminApp({
    adminToken: deps.adminToken,
    keys,
    platform: createPlatformHandler(pool, outbox),
    linkBlocks,
    overrides,
    findHistory: createLinkHistory(pool, outbox),
    delivery,
    plans,
    health,
    metrics,
    requests: metrics.requests('admin'),
    logger,
  });
  const admission = createAdmission(pool, plans);
  exposeApi(metrics, admission.counts, safety);
  const admin = await listen('ADMIN', config.admin, () => listener(adminApp));
  const api = await listen('API', config.api, (own) => {
    const v2: V2Deps = {
      admission,
      handler: createShortenHandler({ pool, outbox, generateCode }),
      idempotency: createIdempotency(pool, delivery),
      delivery,
      findStats: createLinkStats(pool, outbox),
      requests: createLinkRequests({
        isOwnHost: ownHosts(
          [deps.shortUrlHost, ...config.ownHosts],
          [own, admin, ...(deps.edge ? [deps.edge] : [])],
        ),
        plans,
        safety,
        findReservation,
        overriddenFor: (aliases) => overrides.accountsOf(aliases),
        generateCode,
        upgradeUrl,
        passwords: deps.passwords,
      }),
      qrCodes: createQrCodeQuota(pool, outbox),
      findLink: async (code) =>
        (await readLinkStates(pool, outbox, [code])).get(code)?.state ?? noLink,
      shortUrlHost: deps.shortUrlHost,
      plans,
      upgradeUrl,
    };
    return listener(createApiApp(v2, { health, requests: metrics.requests('api'), logger }));
  });

  const tasks = [
    { name: 'expire links', everyMs: 1_000, task: () => expireDueLinks(pool, outbox) },
    { name: 'close minutes', everyMs: 5_000, task: () => closeMinutes(pool, outbox) },
    { name: 'forget answers', everyMs: 600_000, task: () => forgetAnswers(pool) },
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
        blocks: linkBlocks,
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
        const actor = { actor: 'system', requestId: 'first-start' };
        return keys.issue({ name: 'first-key', plan: 'PRO', account: 'default' }, actor);
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
