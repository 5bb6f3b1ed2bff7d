import type { Redis } from 'ioredis';
import type { Config } from '../ops/config/config.js';
import type { EventLog } from '../ops/event-log/port.js';
import type { HealthCheck } from '../ops/http/health.js';
import { ownHosts } from '../ops/http/own-hosts.js';
import { listen } from '../ops/http/server.js';
import type { Logger } from '../ops/platform/logging.js';
import type { Metrics } from '../ops/platform/metrics/metrics.js';
import type { Tracer } from '../ops/platform/tracing.js';
import type { ActiveDomains } from '../ops/ledger/active-domains.js';
import type { Outbox } from '../ops/event-log/outbox/port.js';
import type { NotificationListener } from '../ops/platform/postgres/listener.js';
import { startOrStop, type Register } from '../ops/platform/process/lifecycle.js';
import type { PasswordHasher } from '../ops/platform/passwords/password-hasher.js';
import { periodically } from '../ops/platform/concurrency/periodic.js';
import type { Pool } from '../ops/platform/postgres/pool.js';
import { topics } from '../schemas/events/topics.js';
import { createDomainResolver } from './domains/served-domain.js';
import { watchChanges } from './links/changes.js';
import { ClickBudget } from './links/click-budget.js';
import { createEdgeHandler } from './redirect/handler.js';
import { createEdgeFastPath } from './redirect/fast-path.js';
import { Freshness } from './links/freshness.js';
import { LinkCache, LinkReader } from './links/link-reader.js';
import { warmUp } from './links/warm-up.js';
import { CopyStore, DatabaseClock, readCopyKey, SharedCache } from './links/shared-cache.js';
import { PasswordCheck } from '../ops/http/passwords/password-check.js';
import { exposeEdge, exposeSharedCache } from './metrics.js';
import { ClientHash, deleteOldAttempts, Throttle } from '../ops/http/passwords/throttle.js';
import { shipFromWorker } from './shipping/shipping.js';
import { registerSpool } from './spool/registration.js';
import { openSpool } from './spool/spool.js';
import type { Countries } from './visitors/countries.js';
import { createVisitAnalyzer } from './visitors/visit-analyzer.js';
import { refreshMs, VisitorKeys } from './visitors/visitor-keys.js';

interface RedirectEdgeDeps {
  readonly config: Config;
  /** The URL of `pool`. */
  readonly databaseUrl: string;
  readonly activeDomains: ActiveDomains;
  readonly pool: Pool;
  readonly log: EventLog;
  readonly outbox: Outbox;
  readonly listener: NotificationListener;
  /** The cache that the edges of an installation share; `null` if there is none. */
  readonly sharedCache: { readonly redis: Redis; readonly installation: string } | null;
  readonly passwords: PasswordHasher;
  readonly countries: Countries;
  readonly health: HealthCheck;
  readonly metrics: Metrics;
  readonly tracer: Tracer | null;
  readonly logger: Logger;
}

export type RedirectEdge = Awaited<ReturnType<typeof startRedirectEdge>>;

const startParts = async (deps: RedirectEdgeDeps, onFailure: Register) => {
  const { config, databaseUrl, activeDomains, pool, log, outbox, listener, countries } = deps;
  const { health, metrics, tracer, logger } = deps;
  const keys = new VisitorKeys(pool);
  await keys.refresh();
  const shipping = shipFromWorker({
    address: { kafka: config.kafka, databaseUrl },
    // `ranges` also checks the topics, and that the log belongs to this database.
    untilAvailable: () => log.ranges(topics.visits.name),
    logger,
  });
  onFailure(() => shipping.stop());
  const spool = await openSpool({
    ...config.spool,
    shipping,
    shipDurations: metrics.durations(
      'linklog_spool_ship_duration_seconds',
      'Duration of an append of visits to the log',
    ),
    logger,
  });
  onFailure(() => spool.stop());
  const cache = new LinkCache(config.edgeCacheBytes);
  const freshness = new Freshness();
  const clock = new DatabaseClock(pool);
  const shared =
    deps.sharedCache &&
    new SharedCache({
      key: await readCopyKey(pool),
      store: new CopyStore(deps.sharedCache.redis, deps.sharedCache.installation),
      freshness,
      clock,
      logger,
    });
  if (shared) exposeSharedCache(metrics, shared);
  const links = new LinkReader(pool, outbox, cache, freshness, shared);
  exposeEdge(metrics, { links, cache, spool, maxSpoolBytes: config.spool.maxBytes });
  const platform = await watchChanges({ listener, pool, links, logger });
  onFailure(() => {
    platform.stop();
  });
  const passwords = new PasswordCheck(new ClientHash(pool), new Throttle(pool), deps.passwords);
  const { trustedProxies } = config;
  const requests = metrics.requests('edge');
  const edge = await listen('EDGE', config.edge, { trustedProxies, logger }, (own) => {
    const isOwnHost = ownHosts(
      [...(config.shortUrlHost === null ? [] : [config.shortUrlHost]), ...config.ownHosts],
      [own, config.api, config.admin],
      (name) => activeDomains.find(name) !== undefined,
    );
    const analyzer = createVisitAnalyzer({ countries, keys, isOwnHost, trustedProxies });
    const { redirects } = config;
    const domains = createDomainResolver({ domains: activeDomains, redirects, trustedProxies });
    const parts = { links, platform, requests, tracer, analyzer, spool, domains };
    const http = createEdgeHandler({
      ...{ ...parts, passwords, trustedProxies, health, logger },
      schemes: config.destinationSchemes,
      clicks: new ClickBudget(pool, outbox),
    });
    const fastPath = createEdgeFastPath(parts);
    return { http, fastPath: config.edgeLane ? fastPath : null };
  });
  const stopping = new AbortController();
  const warmingUp = warmUp({ postgres: pool, links, cache, signal: stopping.signal }).catch(
    (err: unknown) => {
      logger.warn({ err }, 'warm-up failed; links are read at their first visits');
    },
  );
  const repeat = (name: string, everyMs: number, task: () => Promise<unknown>) =>
    periodically({ name, everyMs, task, logger });
  const deletingAttempts = repeat('delete old password attempts', 30_000, () =>
    deleteOldAttempts(pool),
  );
  const refreshingKeys = repeat("refresh the keys of visitors' hashes", refreshMs, () =>
    keys.refresh(),
  );
  const registration = registerSpool(pool, spool, logger);
  const syncingClock = shared && repeat("sync PostgreSQL's clock", 10_000, () => clock.sync());
  return {
    edge,
    /** The state of the spool for the health report. */
    spool: () => ({ ...spool.depth(), leftOver: spool.leftOver(), setAside: spool.setAside() }),
    /** Completes requests in progress within `graceMs`, then ships the spool within `graceMs`. */
    async stop(graceMs: number) {
      stopping.abort();
      await Promise.all([
        edge.stop(graceMs),
        warmingUp,
        ...[deletingAttempts, refreshingKeys, syncingClock].map((task) => task?.stop()),
      ]);
      platform.stop();
      await Promise.all([registration.stop(), spool.stop({ shipWithinMs: graceMs })]);
    },
  };
};

export const startRedirectEdge = (deps: RedirectEdgeDeps) =>
  startOrStop(deps.logger, (onFailure) => startParts(deps, onFailure));
