import { type Destinations } from '../schemas/http/link-fields.js';
import type Koa from 'koa';
import type { Context } from 'koa';
import type { Config } from '../ops/config/config.js';
import type { ProxyTrust } from '../ops/http/client-address.js';
import type { HealthCheck } from '../ops/http/health.js';
import { defaultDomainOf } from '../schemas/link-subject.js';
import { txtLookup } from '../ops/platform/networks/dns.js';
import type { Feed } from '../ops/feed/feed.js';
import { createPeople } from './people/handler.js';
import { createProvider, type SignIn } from './people/oidc/provider.js';
import { createSender } from '../ops/webhooks/sender.js';
import type { ActiveDomains } from '../ops/ledger/active-domains.js';
import { createMetricsAccess } from '../ops/http/metrics-access.js';
import { requestOrigin } from '../ops/http/request-origin.js';
import { deleteOldAttempts } from '../ops/http/passwords/throttle.js';
import { operatorsListener } from '../ops/http/operators-listener.js';
import { ownHosts } from '../ops/http/own-hosts.js';
import { listen, type HttpListener } from '../ops/http/server.js';
import type { Logger } from '../ops/platform/logging.js';
import type { Metrics } from '../ops/platform/metrics/metrics.js';
import type { Tracer } from '../ops/platform/tracing.js';
import type { EventLog } from '../ops/event-log/port.js';
import type { Outbox, OutboxDelivery } from '../ops/event-log/outbox/port.js';
import { periodically } from '../ops/platform/concurrency/periodic.js';
import type { PasswordHasher } from '../ops/platform/passwords/password-hasher.js';
import { startOrStop, type Register } from '../ops/platform/process/lifecycle.js';
import { advisoryLocks } from '../ops/advisory-locks.js';
import { transaction, type Pool } from '../ops/platform/postgres/pool.js';
import { ownActors } from '../schemas/decision.js';
import { sharePathOf } from '../schemas/http/shares.js';
import { scopeNames } from '../schemas/scopes.js';
import { createAdminApp } from './http/admin.js';
import type { DoctorReport } from '../schemas/http/doctor.js';
import type { ProjectionWorker } from './projections/handler.js';
import { createStreamSlots, openStreams } from './events/streams.js';
import { createApp, listenerOf, type AppDeps, type RequestState } from './http/app.js';
import { mcpPath, type AllowedOrigins } from './http/cors.js';
import { isConsolePath } from './console/server/console.js';
import { developersConsole } from './console/server/developers.js';
import { createCodeLengths } from './links/create/code-lengths.js';
import { documentation } from './http/docs/files.js';
import { createGuesses } from './http/guesses.js';
import { integrations, sharexPath } from './http/integrations.js';
import { browserPaths } from './http/static-files.js';
import { createV2, v2Routes, type V2Deps } from './http/routes.js';
import { LedgerClock, readClockMs } from '../ops/ledger/clock.js';
import { createImportJob } from './imports/job.js';
import { cleanUpImports, deleteOldImports } from './imports/store.js';
import { createExports } from './links/export/exports.js';
import { createLinkBlockHandler } from './links/block/handler.js';
import { createAdmission } from './admission/admission.js';
import { createApiKeyHandler } from './keys/handler.js';
import { createClockWatch } from './admission/clock-watch.js';
import { consoleAddress, createConsoleToken } from './console/server/console-keys.js';
import { deleteExpiredSessions } from './console/server/console-sessions.js';
import { expireDueLinks } from './links/expire/expiry.js';
import type { createMcp } from './mcp/route.js';
import { deleteExpiredRecords } from './admission/idempotency.js';
import { closeMinutes } from './admission/metering.js';
import { exposeApi } from './metrics.js';
import { createRecheck, recheckSchedule } from './safety/recheck.js';
import type { WebSafety } from './safety/web-safety.js';
import { shareAttempts, sharedStatistics } from './shared-statistics/visitors.js';

interface CommandApiDeps {
  readonly config: Config;
  readonly adminToken: string;
  readonly shortUrlHost: string;
  /** The edge of this process, which no destination may lead to; `null`: none. */
  readonly edge: Pick<HttpListener, 'host' | 'port'> | null;
  readonly activeDomains: ActiveDomains;
  readonly pool: Pool;
  readonly exportPool: Pool;
  readonly feed: Feed;
  readonly log: Pick<EventLog, 'append'>;
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
  readonly passwords: PasswordHasher;
  readonly safety: WebSafety;
  readonly health: HealthCheck;
  readonly projections: ProjectionWorker;
  readonly examine: () => Promise<DoctorReport>;
  readonly metrics: Metrics;
  readonly tracer: Tracer | null;
  readonly logger: Logger;
}

/** Time for the DNS query of a verification (ms): clients get a response within 2 s. */
const verifyWithinMs = 1_500;

/** The key of a first start, which is printed only once. */
export interface FirstKey {
  readonly firstKey: string;
  /** A one-time address of the console. */
  readonly console?: string;
}

/** The clients' application: /v2/*, health, documentation and the console. */
const createApiApp = (
  deps: V2Deps &
    AppDeps & {
      readonly trustedProxies: ProxyTrust;
      readonly hasConsole: boolean;
      readonly passwords: PasswordHasher;
      readonly plansUrl: string | null;
      readonly signIn: SignIn;
      readonly originOf: (ctx: Context) => string;
      readonly corsOrigins: AllowedOrigins;
      readonly hasMcp: boolean;
    },
): Koa<RequestState> => {
  const routes = v2Routes(deps);
  const v2 = createV2(deps, routes);
  const docs = documentation(deps.hasConsole, deps.destinations);
  const guesses = createGuesses(deps.trustedProxies);
  const console = deps.hasConsole ? developersConsole({ ...deps, guesses }, routes) : null;
  const routeOf = (path: string): string | null => {
    if (docs.has(path) || path === '/' || path === '/favicon.ico' || path === sharexPath)
      return path;
    if (deps.hasMcp && path === mcpPath) return path;
    if (console && isConsolePath(path)) return console.routeOf(path);
    return sharePathOf(path) ?? v2.routeOf(path);
  };
  /** Loaded by the first request, because few installations have agents. */
  let mcp: Promise<ReturnType<typeof createMcp>> | null = null;
  const handleMcp = async (ctx: Context): Promise<void> => {
    mcp ??= import('./mcp/route.js').then((loaded) => loaded.createMcp(deps, v2));
    await (await (ctx.state as RequestState).uncounted(mcp)).handle(ctx);
  };
  const app = createApp(deps, routeOf, deps.corsOrigins);
  app.use(docs.serve);
  app.use(browserPaths(deps.hasConsole));
  app.use(integrations(deps.apiOrigin));
  app.use(sharedStatistics(deps));
  app.use((ctx) => {
    if (console && isConsolePath(ctx.path)) return console.handle(ctx);
    return deps.hasMcp && ctx.path === mcpPath ? handleMcp(ctx) : v2.handle(ctx);
  });
  return app;
};

const startParts = async (deps: CommandApiDeps, onFailure: Register) => {
  const { config, activeDomains, pool, outbox, safety, metrics, logger } = deps;
  const { plans, plansUrl, upgradeUrl, trustedProxies, corsOrigins, console: hasConsole } = config;
  const keys = createApiKeyHandler(pool, outbox);
  // Set when the API listens, which needs the address of the operators' listener.
  let apiUrl = '';
  const consoleUrl = (): string | null =>
    hasConsole && apiUrl !== '' ? `${config.consoleOrigins.api ?? apiUrl}/console` : null;
  const apiOrigin = ({ req }: Context): string => requestOrigin(req, trustedProxies) ?? apiUrl;
  const people = createPeople(pool, outbox);
  const consoleOriginOf =
    (listener: 'api' | 'admin') =>
    (ctx: Context): string =>
      config.consoleOrigins[listener] ?? requestOrigin(ctx.req, trustedProxies) ?? '';
  const { oidc, keys: acceptsKeys } = config.signIn;
  const signIn: SignIn = {
    provider: oidc && createProvider(oidc),
    ways: { keys: acceptsKeys, oidc: oidc?.name ?? null },
  };
  const ownUrls = [deps.shortUrlHost, ...config.ownHosts];
  const isDomain = (name: string): boolean => activeDomains.find(name) !== undefined;
  let isOwnHost = ownHosts(ownUrls, [], isDomain);
  const destinations: Destinations = {
    isOwnHost: (url) => isOwnHost(url),
    schemes: config.destinationSchemes,
  };
  const ownNames = new Set([...ownUrls.map((url) => new URL(url).hostname), ...config.admin.names]);
  const isOwnName = (name: string): boolean => ownNames.has(name);
  const slots = createStreamSlots(pool);
  const streams = openStreams({ pool, feed: deps.feed, slots, logger });
  onFailure(() => streams.stop());
  const exports = createExports({ pool: deps.exportPool, mainPool: pool, outbox, logger });
  const { networks } = config.webhooks;
  const sender = createSender({ dnsServers: config.dnsServers, networks });
  const { maxImportBytes } = config;
  const clock = new LedgerClock(pool);
  const codeLengths = createCodeLengths(
    ...([pool, plans, config.codeLength, activeDomains.ignoresCase] as const),
  );
  const adminApp = createAdminApp({
    ...{ ...deps, clock, codeLengths },
    ...{ slots, streams, sender, exports, maxImportBytes },
    consoleUrl,
    apiOrigin: () => apiUrl,
    destinations,
    isOwnName,
    plans,
    trustedProxies,
    hasConsole,
    people,
    signIn,
    originOf: consoleOriginOf('admin'),
    requests: metrics.requests('admin'),
    metricsAccess: createMetricsAccess(
      { host: config.admin.host, metricsToken: config.metricsToken, adminToken: deps.adminToken },
      logger,
    ),
  });
  const watch = createClockWatch(pool, clock, logger);
  await watch.check();
  const admission = createAdmission(pool, clock, plans);
  exposeApi(metrics, admission.counts, safety, watch);
  const admin = await listen('ADMIN', config.admin, { trustedProxies, logger }, () => ({
    http: operatorsListener(
      { isDomain, shortUrlHost: deps.shortUrlHost, hosts: config.admin.names },
      listenerOf(adminApp),
    ),
  }));
  onFailure(() => admin.stop(0));
  const api = await listen('API', config.api, { trustedProxies, logger }, (own) => {
    isOwnHost = ownHosts(ownUrls, [own, admin, ...(deps.edge ? [deps.edge] : [])], isDomain);
    const requests = metrics.requests('api');
    const app = createApiApp({
      ...{
        ...deps,
        clock,
        admission,
        plans,
        plansUrl,
        upgradeUrl,
        trustedProxies,
        hasConsole,
        people,
      },
      ...{
        destinations,
        codeLengths,
        isOwnName,
        requests,
        corsOrigins,
        slots,
        streams,
        sender,
        exports,
      },
      hasMcp: config.mcp,
      maxImportBytes,
      apiOrigin,
      consoleUrl: (ctx) => `${consoleOriginOf('api')(ctx)}/console`,
      signIn,
      originOf: consoleOriginOf('api'),
      txtRecords: txtLookup(config.dnsServers, verifyWithinMs),
    });
    return { http: listenerOf(app) };
  });
  apiUrl = api.url;

  const importJob = createImportJob({
    ...{ pool, outbox, log: deps.log, delivery: deps.delivery, clock, plans, activeDomains },
    ...{ safety, logger, destinations },
    defaultDomain: defaultDomainOf(deps.shortUrlHost),
  });
  const tasks = [
    {
      name: 'import links',
      everyMs: 1_000,
      // A client waits for it. In a busy process, each link costs PostgreSQL and the projectors as much again.
      factors: { idle: 0.2, busy: 16 },
      task: () => importJob.decideNext(),
    },
    { name: 'clean up imports', everyMs: 10_000, task: () => cleanUpImports(pool) },
    { name: 'delete old imports', everyMs: 600_000, task: () => deleteOldImports(pool) },
    { name: 'expire links', everyMs: 1_000, task: () => expireDueLinks(pool, outbox, clock) },
    { name: 'close minutes', everyMs: 5_000, task: () => closeMinutes(pool, outbox) },
    {
      name: 'delete expired idempotency records',
      everyMs: 600_000,
      task: () => deleteExpiredRecords(pool, clock),
    },
    {
      name: 'delete old requests for shared statistics',
      everyMs: 30_000,
      task: () => deleteOldAttempts(pool, shareAttempts),
    },
    { name: 'delete expired sessions', everyMs: 600_000, task: () => deleteExpiredSessions(pool) },
    { name: "read PostgreSQL's clock", everyMs: readClockMs, task: watch.check },
    { name: 'read the blocklist', everyMs: 2_000, task: () => safety.refresh() },
    {
      name: 'check links again',
      everyMs: 2_000,
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
    /** Creates the first key of a new installation; `null` if there are keys. */
    issueFirstKey: (): Promise<FirstKey | null> =>
      // APIs that start concurrently must create only one.
      transaction(pool, async (tx) => {
        await tx.query('SELECT pg_advisory_xact_lock($1)', [advisoryLocks.firstKey]);
        if (await keys.any()) return null;
        const actor = { actor: ownActors.system, requestId: 'first-start' };
        const key = { name: 'first-key', plan: 'PRO', account: 'default' } as const;
        const issued = await keys.issue({ ...key, scopes: scopeNames, expiresIn: null }, actor);
        const { token: firstKey, state } = issued;
        const consolePage = consoleUrl();
        if (consolePage === null) return { firstKey };
        const created = await createConsoleToken(pool, state.key.id);
        return {
          firstKey,
          ...(created && { console: consoleAddress(consolePage, created.token) }),
        };
      }),
    async stop(graceMs: number): Promise<void> {
      await Promise.all([
        streams.stop(),
        api.stop(graceMs),
        admin.stop(graceMs),
        ...tasks.map((task) => task.stop()),
      ]);
    },
  };
};

/** Starts the command API, the operators' listener, and the ledger's periodic work. */
export const startCommandApi = (deps: CommandApiDeps) =>
  startOrStop(deps.logger, (onFailure) => startParts(deps, onFailure));
