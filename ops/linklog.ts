import { startCommandApi } from '../command-api/main.js';
import { openWebSafety } from '../command-api/safety/web-safety.js';
import { startProjectors } from '../projectors/main.js';
import { startRedirectEdge } from '../redirect-edge/main.js';
import { adminTokenOf, openDataDir, type ServiceAddresses } from './data-dir.js';
import { startEmbeddedPostgres } from './embedded/index.js';
import { topics } from '../schemas/events/topics.js';
import { createHealthCheck } from './health-check.js';
import { migrate } from './migrations/migrate.js';
import type { Config } from './platform/config.js';
import { exposeHealth } from './platform/health-metrics.js';
import type { HealthReport } from './platform/health.js';
import { openPostgresLog } from './platform/event-log/postgres-log.js';
import type { Logger } from './platform/logging.js';
import { createMetrics } from './platform/metrics.js';
import { listenToPostgres } from './platform/postgres/listener.js';
import { measureOutbox } from './platform/outbox/outbox-metrics.js';
import { createPasswordDesk } from './platform/passwords/password-desk.js';
import { exposePasswords } from './platform/passwords/password-metrics.js';
import { createPoolMetrics } from './platform/postgres/pool-metrics.js';
import { createPool, isConnectionError, type Pool } from './platform/postgres/pool.js';

/** In-flight requests may take as long, and then the spool's shipping; 10 s is the limit of all. */
const graceMs = 3_000;

export interface Linklog {
  readonly addresses: ServiceAddresses;
  /** The token of the key that a new installation begins with; shown this once. */
  readonly firstKey: string | null;
  /** Never resolves; rejects when the service cannot go on. */
  readonly failed: Promise<never>;
  /** Answers what is in flight, ships or keeps the spool, and ends everything; within 10 s. */
  stop(): Promise<void>;
}

/** What was started, to be stopped in the reverse order. */
class Started {
  readonly #stops: (() => Promise<void> | void)[] = [];

  add(stop: () => Promise<void> | void): void {
    this.#stops.push(stop);
  }

  async stop(logger: Logger): Promise<void> {
    for (const stop of this.#stops.splice(0).reverse()) {
      try {
        await stop();
      } catch (err) {
        // The others must be stopped all the same.
        logger.error({ err }, 'something could not be stopped');
      }
    }
  }
}

/** Starts all services in this process, on the embedded PostgreSQL unless another is configured. */
export const startLinklog = async (config: Config, logger: Logger): Promise<Linklog> => {
  const started = new Started();
  try {
    return await startAll(config, logger, started);
  } catch (error) {
    await started.stop(logger);
    throw error;
  }
};

const startAll = async (config: Config, logger: Logger, started: Started): Promise<Linklog> => {
  // Before anything is made: a bad list is a bad configuration.
  const safety = await openWebSafety(config.safety, logger);
  const dataDir = await openDataDir(config.dataDir);
  started.add(() => {
    dataDir.release();
  });
  const failures: Promise<never>[] = [];
  const metrics = createMetrics();

  let url = config.databaseUrl;
  if (url === null) {
    const postgres = await startEmbeddedPostgres({ dataDir: config.dataDir, logger });
    started.add(() => postgres.stop());
    failures.push(
      postgres.exited.then((exit) => {
        if (exit.status === 'stopped') return new Promise<never>(() => undefined);
        throw new Error(`The embedded PostgreSQL died (${exit.reason}):\n${exit.output}`);
      }),
    );
    url = postgres.url;
  }

  const databaseUrl = url;
  const pools = createPoolMetrics(metrics);
  const pool = (name: string, max: number): Pool => {
    const made = createPool({ url: databaseUrl, name, max, logger });
    started.add(() => made.end());
    pools.add(name, made);
    return made;
  };
  const logPool = pool('log', 6);
  await migrate(logPool).catch((cause: unknown) => {
    if (config.databaseUrl === null || !isConnectionError(cause)) throw cause;
    const reason = (cause as Error).message;
    throw new Error(`DATABASE_URL: PostgreSQL cannot be reached: ${reason}`, { cause });
  });
  const opened = await openPostgresLog({ pool: logPool, url: databaseUrl, logger });
  const { log } = opened;
  started.add(() => log.close());
  const outbox = measureOutbox(opened.outbox, metrics);

  const projectors = await startProjectors({ pool: pool('projectors', 6), log, logger });
  started.add(() => projectors.stop());
  failures.push(projectors.failed);

  // The edge asks for health, and health for the edge's spool.
  let spoolDepth: () => HealthReport['spool'] = () => null;
  const health = createHealthCheck({
    dependencies: {
      postgres: () => logPool.query('SELECT 1'),
      log: () => log.ranges(topics.platform.name),
    },
    projections: () => projectors.status(),
    spool: () => spoolDepth(),
    logger,
  });
  exposeHealth(metrics, health, () => projectors.secondsBehind());
  const listener = listenToPostgres(databaseUrl, ['linklog_changes'], logger);
  started.add(() => listener.close());
  const passwords = createPasswordDesk();
  exposePasswords(metrics, passwords);
  const edge = await startRedirectEdge({
    config,
    listener,
    pool: pool('edge', 6),
    log,
    outbox,
    passwords,
    health,
    metrics,
    logger,
  });
  // For a start that fails from here on; to stop it twice does no harm.
  started.add(() => edge.stop(graceMs));
  spoolDepth = () => edge.spoolDepth();

  const api = await startCommandApi({
    config,
    adminToken: config.adminToken ?? adminTokenOf(config.dataDir),
    shortUrlHost: config.shortUrlHost ?? `http://localhost:${edge.edge.port}`,
    edge: edge.edge,
    pool: pool('command-api', 8),
    outbox,
    passwords,
    safety,
    health,
    metrics,
    logger,
  });
  // Both at once: one after the other could take more than the 10 s that all of it may.
  started.add(async () => {
    await Promise.all([api.stop(graceMs), edge.stop(graceMs)]);
  });

  const firstKey = await api.issueFirstKey();
  const addresses = {
    api: api.api.url,
    edge: edge.edge.url,
    admin: api.admin.url,
    pid: process.pid,
  };
  dataDir.publish(addresses);

  return {
    addresses,
    firstKey: firstKey?.token ?? null,
    failed: Promise.race(failures),
    async stop() {
      dataDir.markDraining();
      await started.stop(logger);
    },
  };
};
