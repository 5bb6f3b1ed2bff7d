import { openWebSafety } from '../../command-api/safety/web-safety.js';
import { missingEvents, projectionStatus } from '../../projectors/main.js';
import type { RedirectEdge } from '../../redirect-edge/main.js';
import { openCountries } from '../../redirect-edge/visitors/countries.js';
import { coalesce, firstFailure, never } from '../platform/concurrency/deferred.js';
import { retry } from '../platform/concurrency/retry.js';
import type { Config } from '../config/config.js';
import { openFeed } from '../feed/feed.js';
import { watchActiveDomains } from '../ledger/active-domains.js';
import { isKafkaOutage, KafkaFailure } from '../event-log/kafka/failures.js';
import { exposeLogFaults } from '../event-log/kafka/log-faults.js';
import { installationOf } from '../event-log/log-binding.js';
import type { Logger } from '../platform/logging.js';
import { exposeConnections } from '../http/connections.js';
import { createHealthCheck, exposeHealth } from './health-check.js';
import { createMetrics, measureDisks } from '../platform/metrics/metrics.js';
import { measureOutbox, measureRelay } from '../event-log/outbox/outbox-metrics.js';
import { exposePasswords, PasswordHasher } from '../platform/passwords/password-hasher.js';
import { measureServer } from '../platform/postgres/query-metrics.js';
import {
  isOutage,
  namingDatabaseUrl,
  requireWritable,
} from '../platform/postgres/connection-fault.js';
import { chooseInsensitive, requireCodesCase } from './codes-case.js';
import { openRedis, openTracer } from './connections.js';
import {
  adminTokenOf,
  openDataDir,
  sealKeyFileIn,
  writeKeyHeader,
  type ServiceAddresses,
} from './data-dir.js';
import { lockInDatabase } from './data-dir-lock.js';
import { openDatabase } from './database.js';
import { startEdgeProcesses } from './edge-processes.js';
import { namingFullDisk } from './full-disk.js';
import { logChannels, openEventLog } from './event-log.js';
import { readPlatform } from '../ledger/platform.js';
import { startMonitoring } from './monitoring.js';
import { actAsProjectionOwner } from './projection-worker.js';
import { requireShared, type Role, roles as allRoles, warnOfMemoryLimit } from './roles.js';
import { openProjectorThread } from './projectors-in-thread.js';
import type { ProjectorService } from './projectors.js';
import { printRestarted } from './ready-line.js';
import { registerProcess } from './registration.js';
import { scheduleBackups } from './scheduled-backups.js';
import { startInOrder, type Register } from '../platform/process/lifecycle.js';

/** Time for requests in flight, and then for shipping the spool (ms each). The whole stop takes 10 s at most. */
const graceMs = 3_000;

/**
 * How long a start is repeated while PostgreSQL or Kafka is unavailable (ms): it may start later, its disk may be slow,
 * or new partitions change their leaders.
 */
const retryForMs = 60_000;

/** @throws ConfigError, LockHeld, and the errors of PostgreSQL and the log */
const startOnce = (config: Config, roles: ReadonlySet<Role>, logger: Logger, signal: AbortSignal) =>
  startInOrder(logger, async (register) => {
    /** After each part that has started, a signal ends the start. */
    const onStop: Register = (stop) => {
      register(stop);
      signal.throwIfAborted();
    };
    requireShared(config, roles);
    const { codesCase } = config;
    // A bad file is a configuration error, so the files are read before anything is created.
    const safety = await openWebSafety(config.safety, logger);
    const countries = await openCountries(roles.has('edge') ? config.geoipFile : null, logger);
    const dataDir = await openDataDir(config.dataDir);
    onStop(() => {
      dataDir.release();
    });

    if (roles.size === allRoles.length && config.databaseUrl === null) warnOfMemoryLimit(logger);
    const metrics = createMetrics();
    const tracer = await openTracer(config.tracing, logger);
    onStop(() => tracer?.stop());
    const projectorThread =
      roles.has('projectors') && roles.size > 1 ? openProjectorThread(logger) : null;
    onStop(() => projectorThread?.terminate());
    const subscribes = roles.has('projectors') && projectorThread === null;
    const channels = [
      'linklog_changes' as const,
      ...logChannels(config, { subscribes: subscribes || roles.has('api') }),
    ];
    const database = await openDatabase({ config, channels, metrics, tracer, logger });
    onStop(() => database.stop());
    const { listener } = database;
    const dataDirLock =
      config.databaseUrl === null
        ? null
        : lockInDatabase({
            url: config.databaseUrl,
            dataDir: config.dataDir,
            id: dataDir.id(),
            logger,
          });
    onStop(() => dataDirLock?.stop());
    await dataDirLock?.decided;
    const logPool = database.pool('log', 6, 'log');
    const registration = registerProcess({ pool: logPool, roles, codesCase, metrics, logger });
    onStop(() => registration.stop());
    const eventLog = await openEventLog(config, {
      pool: logPool,
      ...(config.kafka && { requestPool: database.pool('delivery', 2, 'request') }),
      url: database.url,
      listener,
      logger,
      onRecorded: measureOutbox(metrics),
    });
    onStop(() => eventLog.close());
    await eventLog.untilChecked();
    const { log, outbox, delivery } = eventLog;

    const anyCase = codesCase === 'insensitive';
    if (anyCase && roles.has('api')) await chooseInsensitive(logPool, outbox);
    await requireCodesCase(logPool, codesCase);
    const activeDomains = await watchActiveDomains({ listener, pool: logPool, anyCase, logger });
    onStop(() => {
      activeDomains.stop();
    });

    const ownSealKeyFile = roles.size === allRoles.length ? sealKeyFileIn(config.dataDir) : null;
    const startProjectors = async (): Promise<ProjectorService> => {
      if (projectorThread) {
        const { dnsServers, eventStoreUrl, kafka, sealKeyFile, tracing, webhooks } = config;
        const settings = {
          config: { dnsServers, eventStoreUrl, kafka, sealKeyFile, webhooks },
          tracing,
          databaseUrl: database.url,
          ...{ ownSealKeyFile, logLevel: logger.level },
        };
        return projectorThread.start(settings, metrics);
      }
      // Modules of services that do not run here are not imported, because they would slow down the start.
      const { startProjectorService } = await import('./projectors.js');
      const deps = { config, database, eventLog, ownSealKeyFile, metrics, logger };
      return startProjectorService(deps);
    };
    const projectors = roles.has('projectors') ? await startProjectors() : null;
    onStop(() => projectors?.stop());

    const redis =
      config.redisUrl !== null && roles.has('edge')
        ? await openRedis(config.redisUrl, logger)
        : null;
    onStop(() => redis?.disconnect());

    // The health check reads the edge's spool, and the edge serves the health check.
    let edge: RedirectEdge | null = null;
    let isDraining = false;
    const health = createHealthCheck({
      dependencies: {
        postgres: () => requireWritable(logPool),
        log: () => eventLog.check(),
      },
      optional: {
        ...(redis && { redis: () => redis.ping() }),
        projectors: registration.requireProjectors,
        ...projectors?.checks,
      },
      projections: () => projectionStatus(logPool, log),
      missingEvents: () => missingEvents(logPool),
      spool: () => edge?.spool() ?? null,
      compaction: async () => (await projectors?.compaction()) ?? null,
      maintenance: async () => {
        const { maintenanceSince } = await readPlatform(logPool);
        return maintenanceSince && { since: maintenanceSince.toISOString() };
      },
      isDraining: () => isDraining,
      logger,
    });
    exposeLogFaults(metrics, eventLog.faults);
    measureServer(metrics, logPool, logger);
    const { isRelay } = eventLog;
    if (isRelay) measureRelay(metrics, { pool: logPool, isActive: isRelay, logger });
    const spoolDir = roles.has('edge') ? { spool: config.spool.root } : {};
    measureDisks(metrics, { data: config.dataDir, ...spoolDir }, logger);
    exposeHealth(metrics, health, async () => (await projectors?.secondsBehind()) ?? new Map());
    const passwords = new PasswordHasher();
    exposePasswords(metrics, passwords);

    const isShared = roles.has('edge') && config.edgeProcesses > 1;
    if (roles.has('edge') && !isShared) {
      const { startRedirectEdge } = await import('../../redirect-edge/main.js');
      edge = await startRedirectEdge({
        config,
        databaseUrl: database.url,
        activeDomains,
        listener,
        sharedCache: redis && { redis, installation: await installationOf(logPool) },
        pool: database.pool('edge', 6, 'request'),
        ...{ log, outbox, passwords, countries, health, metrics, tracer, logger },
      });
    }
    // A start that fails from here on calls it; the edge's `stop` is idempotent.
    onStop(() => edge?.stop(graceMs));
    const edgeProcesses = isShared
      ? await startEdgeProcesses({
          config,
          databaseUrl: database.url,
          onRestarted: printRestarted,
          logger,
        })
      : null;
    onStop(() => edgeProcesses?.stop());
    const edgeAddress = edge?.edge ?? edgeProcesses?.address ?? null;

    const startWorker = async () => {
      const pool = database.pool('projection-work', 4, 'background');
      await actAsProjectionOwner(pool, logPool);
      const { createProjectionWorker } = await import('./projection-worker.js');
      const hasArchive = config.eventStoreUrl !== null;
      return createProjectionWorker({ pool, log, hasArchive, logger });
    };
    const worker = roles.has('api') ? await startWorker() : null;
    onStop(() => worker?.stop());

    const feed = worker && openFeed({ pool: database.pool('feed', 4, 'request'), log, logger });
    onStop(() => feed?.stop());
    const edgePort = edgeAddress?.port ?? config.edge.port;
    const api =
      worker && feed
        ? await (
            await import('../../command-api/main.js')
          ).startCommandApi({
            config,
            adminToken: config.adminToken ?? adminTokenOf(config.dataDir),
            shortUrlHost: config.shortUrlHost ?? `http://localhost:${edgePort}`,
            edge: edgeAddress,
            activeDomains,
            pool: database.pool('command-api', 8, 'request', true),
            log,
            exportPool: database.pool('exports', 4, 'export', true),
            ...{ feed, outbox, delivery, passwords, safety, health, metrics, tracer, logger },
            projections: worker,
            examine: coalesce(async () => {
              const { examine } = await import('./doctor.js');
              return examine(config, { ...eventLog, pool: logPool });
            }),
          })
        : null;
    const backups =
      api && config.backups
        ? scheduleBackups({ settings: config.backups, pool: logPool, metrics, logger })
        : null;
    onStop(() => backups?.stop());
    const admin =
      api?.admin ?? (await startMonitoring({ config, activeDomains, health, metrics, logger }));
    exposeConnections(metrics, {
      admin,
      ...(api && { api: api.api }),
      ...(edge && { edge: edge.edge }),
    });
    // In parallel, because in sequence they could take more than 10 s.
    onStop(async () => {
      const listeners = [api, admin, edge].map((listener) => listener?.stop(graceMs));
      await Promise.all([...listeners, edgeProcesses?.stop()]);
    });

    const issued = config.makesFirstKey ? await api?.issueFirstKey() : null;
    const firstKeyHeader = issued ? writeKeyHeader(config.dataDir, issued.firstKey) : null;
    const addresses: ServiceAddresses = {
      ...(api && { api: api.api.url }),
      ...(edgeAddress && { edge: edgeAddress.url }),
      admin: admin.url,
      pid: process.pid,
    };
    dataDir.publish(addresses);
    await registration.start();
    return {
      addresses,
      /** `null` unless EDGE_PROCESSES is more than 1. */
      edgeProcesses: edgeProcesses?.processes ?? null,
      /** Only a new installation creates it; the key is shown this once. */
      firstKey: issued ? { ...issued, ...(firstKeyHeader !== null && { firstKeyHeader }) } : null,
      /** Makes the service not ready, although it still serves. */
      beginDraining: (): void => {
        isDraining = true;
        edgeProcesses?.beginDraining();
      },
      /** Stops the embedded PostgreSQL, although `stop` hangs. Idempotent. */
      stopPostgres: database.stopPostgres,
      /** Never resolves. Rejects if the service must end. */
      failed: firstFailure([
        registration.failed,
        eventLog.failed,
        projectors?.failed ?? never,
        dataDirLock?.failed ?? never,
      ]),
    };
  });

/**
 * Starts the services of these roles in this process, with the embedded PostgreSQL unless DATABASE_URL is set; `null` if
 * the signal ended the attempts. `stop` responds to the requests in flight, ships or keeps the spool, and completes
 * within 10 s.
 *
 * @throws ConfigError, LockHeld, and the errors of PostgreSQL and the log
 */
export const startLinklog = (
  config: Config,
  roles: ReadonlySet<Role>,
  logger: Logger,
  signal: AbortSignal,
) => {
  const end = performance.now() + retryForMs;
  const named = (error: unknown): unknown => {
    if (error instanceof KafkaFailure) return error;
    return config.databaseUrl === null
      ? namingFullDisk(error, config.dataDir)
      : namingDatabaseUrl(error);
  };
  return retry(() => startOnce(config, roles, logger, signal), {
    signal,
    isRetryable: (error) =>
      (error instanceof KafkaFailure ? isKafkaOutage(error) : isOutage(error)) &&
      performance.now() < end,
    onFailure: (error) => {
      const message =
        error instanceof KafkaFailure
          ? 'kafka is unavailable; starting again'
          : 'postgres is unavailable; starting again';
      logger.warn({ err: named(error) }, message);
    },
  }).catch((error: unknown) => {
    if (signal.aborted) return null;
    throw named(error);
  });
};
