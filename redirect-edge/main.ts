import type { Redis } from 'ioredis';
import type { Config } from '../ops/config/config.js';
import type { EventLog } from '../ops/event-log/port.js';
import type { HealthCheck } from '../ops/http/health.js';
import { ownHosts } from '../ops/http/own-hosts.js';
import { listen } from '../ops/http/server.js';
import type { Logger } from '../ops/platform/logging.js';
import type { Metrics } from '../ops/platform/metrics/metrics.js';
import type { Outbox } from '../ops/event-log/outbox/port.js';
import type { NotificationListener } from '../ops/platform/postgres/listener.js';
import { startOrStop, type Register } from '../ops/platform/process/start-in-order.js';
import type { PasswordHasher } from '../ops/platform/passwords/password-hasher.js';
import { periodically } from '../ops/platform/concurrency/periodic.js';
import type { Pool } from '../ops/platform/postgres/pool.js';
import { topics } from '../schemas/events/topics.js';
import { watchChanges } from './links/changes.js';
import { ClickBudget } from './links/click-budget.js';
import { locationOf } from './redirect/decision.js';
import { createEdgeHandler } from './redirect/handler.js';
import { createEdgeFastPath } from './redirect/fast-path.js';
import { createCachedVisits } from './redirect/cached-visits.js';
import { Freshness } from './links/freshness.js';
import { LinkCache, LinkReader } from './links/link-reader.js';
import { warmUp } from './links/warm-up.js';
import { CopyStore, DatabaseClock, readCopyKey, SharedCache } from './links/shared-cache.js';
import { PasswordCheck } from './passwords/password-check.js';
import { exposeEdge, exposeSharedCache } from './metrics.js';
import { ClientHash, deleteOldAttempts, Throttle } from './passwords/throttle.js';
import { shipFromWorker } from './shipping/shipping.js';
import { openSpool } from './spool/spool.js';
import type { Countries } from './visitors/countries.js';
import { createVisitAnalyzer } from './visitors/visit-analyzer.js';
import { refreshMs, VisitorKeys } from './visitors/visitor-keys.js';

/** Room for about 100,000 links of usual length. */
const cacheBytes = 48 * 1_024 * 1_024;

export interface RedirectEdgeDeps {
  readonly config: Pick<
    Config,
    | 'admin'
    | 'api'
    | 'edge'
    | 'edgeLane'
    | 'kafka'
    | 'ownHosts'
    | 'rootRedirect'
    | 'shortUrlHost'
    | 'spool'
    | 'trustedProxies'
  >;
  /** The pool's. */
  readonly databaseUrl: string;
  readonly pool: Pool;
  readonly log: EventLog;
  readonly outbox: Outbox;
  readonly listener: NotificationListener;
  /** The edges' shared cache, of links of one installation; `null`: none. */
  readonly sharedCache: { readonly redis: Redis; readonly installation: string } | null;
  readonly passwords: PasswordHasher;
  readonly countries: Countries;
  readonly health: HealthCheck;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

export type RedirectEdge = Awaited<ReturnType<typeof startRedirectEdge>>;

const startParts = async (deps: RedirectEdgeDeps, onFailure: Register) => {
  const { config, databaseUrl, pool, log, outbox, listener, countries } = deps;
  const { health, metrics, logger } = deps;
  const keys = new VisitorKeys(pool);
  await keys.refresh();
  const shipping = shipFromWorker({
    address: { kafka: config.kafka, databaseUrl },
    // A log that answers `ranges` is up, its topics are right, and it belongs to this database.
    untilAvailable: () => log.ranges(topics.visits.name),
    logger,
  });
  onFailure(() => shipping.stop());
  const spool = await openSpool({
    ...config.spool,
    shipping,
    shipDurations: metrics.durations(
      'linklog_spool_ship_duration_seconds',
      'Time that the log takes for one batch of visits',
    ),
    logger,
  });
  onFailure(() => spool.stop());
  const cache = new LinkCache(cacheBytes);
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
  const edge = await listen('EDGE', config.edge, trustedProxies, (own) => {
    const isOwnHost = ownHosts(
      [...(config.shortUrlHost === null ? [] : [config.shortUrlHost]), ...config.ownHosts],
      [own, config.api, config.admin],
    );
    const analyzer = createVisitAnalyzer({ countries, keys, isOwnHost, trustedProxies });
    const cachedVisits = createCachedVisits({ links, platform, spool, analyzer });
    const http = createEdgeHandler({
      ...{
        links,
        platform,
        spool,
        analyzer,
        cachedVisits,
        passwords,
        trustedProxies,
        health,
        requests,
      },
      clicks: new ClickBudget(pool, outbox),
      rootRedirect: config.rootRedirect && locationOf(config.rootRedirect),
      logger,
    });
    const fastPath = createEdgeFastPath({
      links,
      platform,
      requests,
      analyzer,
      spool,
      cachedVisits,
    });
    return { http, fastPath: config.edgeLane ? fastPath : null };
  });
  const stopping = new AbortController();
  const warmingUp = warmUp({ postgres: pool, links, cache, signal: stopping.signal }).catch(
    (err: unknown) => {
      logger.warn({ err }, 'warm-up ended early: links are read at their first visits');
    },
  );
  const deletingAttempts = periodically({
    name: 'delete old password attempts',
    everyMs: 30_000,
    task: () => deleteOldAttempts(pool),
    logger,
  });
  const refreshingKeys = periodically({
    name: "refresh the keys of visitors' hashes",
    everyMs: refreshMs,
    task: async () => {
      await keys.refresh();
      return 0;
    },
    logger,
  });
  const syncingClock =
    shared &&
    periodically({
      name: "sync PostgreSQL's clock",
      everyMs: 10_000,
      task: async () => {
        await clock.sync();
        return 0;
      },
      logger,
    });
  return {
    edge,
    /** As health reports it. */
    spool: () => ({ ...spool.depth(), leftOver: spool.leftOver(), setAside: spool.setAside() }),
    /** Answers requests in flight for at most `graceMs`, then ships the spool for at most as long. */
    async stop(graceMs: number) {
      stopping.abort();
      await Promise.all([
        edge.stop(graceMs),
        warmingUp,
        ...[deletingAttempts, refreshingKeys, syncingClock].map((task) => task?.stop()),
      ]);
      platform.stop();
      await spool.stop({ shipWithinMs: graceMs });
    },
  };
};

/** Starts the redirect edge: its listener, and the spool that its visits go through. */
export const startRedirectEdge = (deps: RedirectEdgeDeps) =>
  startOrStop(deps.logger, (onFailure) => startParts(deps, onFailure));
