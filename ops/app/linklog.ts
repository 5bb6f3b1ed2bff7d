import { startCommandApi } from '../../command-api/main.js';
import { openWebSafety } from '../../command-api/safety/web-safety.js';
import { openArchive, projectionStatus, startProjectors } from '../../projectors/main.js';
import { signerOfProcess } from '../../projectors/seals/seal-key.js';
import { startSealing } from '../../projectors/seals/sealing.js';
import { startRedirectEdge } from '../../redirect-edge/main.js';
import { topics } from '../../schemas/events/topics.js';
import { adminTokenOf, openDataDir, sealKeyFileIn, type ServiceAddresses } from './data-dir.js';
import { startEmbeddedPostgres } from '../local/postgres/index.js';
import { openEventLog } from './event-log.js';
import { createHealthCheck } from './health-check.js';
import { migrate } from '../migrations/migrate.js';
import { startMonitoring } from './monitoring.js';
import type { Config } from '../platform/config/config.js';
import { installationOf } from '../platform/event-log/log-binding.js';
import { exposeHealth } from '../platform/metrics/health-metrics.js';
import type { HealthReport } from '../platform/http/health.js';
import type { Logger } from '../platform/logging.js';
import { createMetrics } from '../platform/metrics/metrics.js';
import { measureOutbox } from '../platform/outbox/outbox-metrics.js';
import { createPasswordHasher, exposePasswords } from '../platform/passwords/password-hasher.js';
import { listenToPostgres } from '../platform/postgres/listener.js';
import { createPoolMetrics } from '../platform/postgres/pool-metrics.js';
import { createPool, isConnectionError, type Pool } from '../platform/postgres/pool.js';
import { openRedis } from '../platform/redis.js';
import { requireShared, roles as allRoles, type Role } from './roles.js';

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

/**
 * Starts services in this process: all of them unless told, on the embedded PostgreSQL unless another
 * is configured. Services that run alone share PostgreSQL, and Kafka where it is configured.
 */
export const startLinklog = async (
  config: Config,
  roles: ReadonlySet<Role>,
  logger: Logger,
): Promise<Linklog> => {
  const started = new Started();
  try {
    return await startRoles(config, roles, logger, started);
  } catch (error) {
    await started.stop(logger);
    throw error;
  }
};

const startRoles = async (
  config: Config,
  roles: ReadonlySet<Role>,
  logger: Logger,
  started: Started,
): Promise<Linklog> => {
  requireShared(config, roles);
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
  const migrating = createPool({ url, name: 'migrate', max: 2, patient: true, logger });
  try {
    await migrate(migrating);
  } catch (cause) {
    if (config.databaseUrl === null || !isConnectionError(cause)) throw cause;
    const reason = (cause as Error).message;
    throw new Error(`DATABASE_URL: PostgreSQL cannot be reached: ${reason}`, { cause });
  } finally {
    await migrating.end();
  }
  const logPool = pool('log', 6);
  const listener = listenToPostgres(
    databaseUrl,
    ['linklog_changes', 'linklog_log', 'linklog_sent'],
    logger,
  );
  started.add(() => listener.close());
  const opened = await openEventLog(config, {
    pool: logPool,
    url: databaseUrl,
    listener,
    logger,
    onRecorded: measureOutbox(metrics),
  });
  const { log, outbox, delivery } = opened;
  started.add(() => opened.close());
  failures.push(opened.failed);

  if (roles.has('projectors')) await opened.untilAnswering();
  const projectorPool = roles.has('projectors') ? pool('projectors', 6) : null;
  const projectors = projectorPool
    ? await startProjectors({ pool: projectorPool, log, logger })
    : null;
  if (projectors) {
    started.add(() => projectors.stop());
    failures.push(projectors.failed);
  }
  if (projectorPool) {
    const own = roles.size === allRoles.length ? sealKeyFileIn(config.dataDir) : null;
    const signer = await signerOfProcess(
      { named: config.sealKeyFile, own },
      { client: projectorPool, logger },
    );
    if (signer) {
      const sealing = await startSealing({ pool: projectorPool, log, logger, signer });
      started.add(() => sealing.stop());
      failures.push(sealing.failed);
    }
  }
  const archive =
    projectors && config.eventStoreUrl !== null
      ? await openArchive({
          url: config.eventStoreUrl,
          pool: pool('archive', 2),
          log,
          metrics,
          logger,
        })
      : null;
  if (archive) {
    started.add(() => archive.stop());
    failures.push(archive.failed);
  }

  const redis =
    config.redisUrl !== null && roles.has('edge') ? openRedis(config.redisUrl, logger) : null;
  if (redis) {
    started.add(() => {
      redis.disconnect();
    });
  }

  // The edge asks for health, and health for the edge's spool.
  let spoolDepth: () => HealthReport['spool'] = () => null;
  const health = createHealthCheck({
    dependencies: {
      postgres: () => logPool.query('SELECT 1'),
      log: () => log.ranges(topics.platform.name),
    },
    optional: {
      ...(redis && { redis: () => redis.ping() }),
      ...(archive && { archive: () => archive.check() }),
    },
    projections: () => projectionStatus(logPool, log),
    spool: () => spoolDepth(),
    logger,
  });
  exposeHealth(metrics, health, () => projectors?.secondsBehind() ?? new Map());
  const passwords = createPasswordHasher();
  exposePasswords(metrics, passwords);

  const edge = roles.has('edge')
    ? await startRedirectEdge({
        config,
        listener,
        sharedCache: redis && { redis, installation: await installationOf(logPool) },
        pool: pool('edge', 6),
        log,
        outbox,
        passwords,
        health,
        metrics,
        logger,
      })
    : null;
  if (edge) {
    // For a start that fails from here on; to stop it twice does no harm.
    started.add(() => edge.stop(graceMs));
    spoolDepth = () => edge.spoolDepth();
  }

  const api = roles.has('api')
    ? await startCommandApi({
        config,
        adminToken: config.adminToken ?? adminTokenOf(config.dataDir),
        shortUrlHost:
          config.shortUrlHost ?? `http://localhost:${edge?.edge.port ?? config.edge.port}`,
        edge: edge?.edge ?? null,
        pool: pool('command-api', 8),
        outbox,
        delivery,
        passwords,
        safety,
        health,
        metrics,
        logger,
      })
    : null;
  const admin =
    api?.admin ?? (await startMonitoring({ admin: config.admin, health, metrics, logger }));
  // All at once: one after the other could take more than the 10 s that all of it may.
  started.add(async () => {
    await Promise.all([api?.stop(graceMs), admin.stop(graceMs), edge?.stop(graceMs)]);
  });

  const firstKey = (await api?.issueFirstKey()) ?? null;
  const addresses = {
    ...(api && { api: api.api.url }),
    ...(edge && { edge: edge.edge.url }),
    admin: admin.url,
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
