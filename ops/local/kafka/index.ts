import { Kafka, logLevel } from 'kafkajs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { retry } from '../../platform/concurrency/retry.js';
import { launch, runToSuccess, stopChild, untilReady } from '../process/child.js';
import { ServerFailed, ServerUnavailable } from '../process/errors.js';
import { openServerDir, stablePort, startServer, type ServerOptions } from '../process/server.js';
import {
  brokerArguments,
  clusterIdOf,
  explainJava,
  formatStorage,
  newClusterId,
  serverProperties,
  type BrokerExtras,
  type BrokerPorts,
} from './broker.js';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { inheritedEnvironment } from '../../config/config.js';
import { hasCode } from '../../platform/errors.js';
import { projectFile } from '../../platform/files/project-file.js';
import type { Logger } from '../../platform/logging.js';
import { cacheDir, provideInCache } from '../process/program-cache.js';

/** The versions that the tests run on. The first one is the default, also of the pom. */
export const kafkaVersions = ['4.3.1', '3.9.1'] as const;
export type KafkaVersion = (typeof kafkaVersions)[number];

const pom = projectFile('ops', 'local', 'kafka', 'pom.xml');

export const resolveJars = async (version: KafkaVersion, dir: string): Promise<void> => {
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime'];
  const choice = [`-Dkafka.version=${version}`, `-DoutputDirectory=${dir}`];
  await runToSuccess(null, 'mvn', ['-B', '-q', '-f', pom, ...goal, ...choice], {
    env: inheritedEnvironment(),
    failure: `Maven could not download Kafka ${version}`,
    retryable: true,
    explain: (error) =>
      hasCode(error, 'ENOENT')
        ? new ServerUnavailable(
            `Kafka ${version} is downloaded with Maven, but mvn is not in PATH; install it (apt-get install maven), or set KAFKA_BROKERS to an existing Kafka`,
            { cause: error },
          )
        : error,
  });
};

/**
 * Returns the directory of Kafka's jars, fetched from Maven's repository if they are not cached.
 *
 * @throws ServerUnavailable if Maven is missing or the cache is not writable
 */
const kafkaJars = async (version: KafkaVersion, logger: Logger): Promise<string> => {
  // The digest of the pom is part of the name, because another pom may resolve to other jars.
  const digest = createHash('sha256')
    .update(await readFile(pom))
    .digest('hex');
  const cache = cacheDir() ?? join(tmpdir(), 'linklog-cache');
  const fill = async (dir: string): Promise<void> => {
    logger.info({ version }, 'downloading Kafka');
    await resolveJars(version, dir);
  };
  const name = `kafka-${version}-${digest.slice(0, 8)}`;
  const jars = await provideInCache(cache, name, fill, logger);
  if (jars !== null) return jars;
  throw new ServerUnavailable(
    `Kafka's jars cannot be stored in ${cache} (not writable, or writable by other users); set KAFKA_BROKERS to an existing Kafka`,
  );
};

type BrokerOptions = Pick<ServerOptions, 'dataDir' | 'port'> & BrokerExtras;

interface KafkaClusterOptions extends Pick<ServerOptions, 'logger' | 'tied'> {
  readonly brokers: readonly BrokerOptions[];
  readonly version?: KafkaVersion;
  /** Whether a fast start is more important than throughput. */
  readonly brief?: boolean;
}

const kafka = { name: 'Kafka', program: 'java' } as const;

/** Attempts to start a cluster on other ports if another process has taken one of them. */
const attempts = 5;

const dataIn = (dir: string): string => join(dir, 'data');

export const hasBroker = async (dataDir: string): Promise<boolean> =>
  (await clusterIdOf(dataIn(dataDir))) !== null;

const isBrokerReady = async (
  brokers: string,
  clusterId: string,
  nodeIds: readonly number[],
): Promise<boolean> => {
  const admin = new Kafka({
    brokers: [brokers],
    connectionTimeout: 1_000,
    requestTimeout: 3_000,
    retry: { retries: 0 },
    logLevel: logLevel.NOTHING,
  }).admin();
  try {
    await admin.connect();
    const cluster = await admin.describeCluster();
    const listed = cluster.brokers.map(({ nodeId }) => nodeId);
    // Another process may have taken the port, and a broker does not list itself before it is registered.
    return cluster.clusterId === clusterId && nodeIds.every((id) => listed.includes(id));
  } catch {
    // `untilReady` retries until its deadline and detects an exit of the broker.
    return false;
  } finally {
    await admin.disconnect();
  }
};

interface PreparedCluster {
  readonly dirs: readonly string[];
  readonly ports: readonly BrokerPorts[];
  readonly jars: string;
  readonly clusterId: string;
}

const propertiesIn = (dir: string): string => join(dir, 'server.properties');

const prepare = async (
  { brokers }: KafkaClusterOptions,
  dirs: readonly string[],
  jars: string,
): Promise<PreparedCluster> => {
  const ports = await Promise.all(
    brokers.map(async ({ port }): Promise<BrokerPorts> => ({
      client: port ?? (await stablePort()),
      ...{ internal: await stablePort(), controller: await stablePort() },
    })),
  );
  const ids = await Promise.all(dirs.map((dir) => clusterIdOf(dataIn(dir))));
  const clusterId = ids.find((id) => id !== null) ?? newClusterId();
  const format = async (dir: string, index: number): Promise<void> => {
    const properties = propertiesIn(dir);
    const extras = brokers[index];
    const content = serverProperties(dataIn(dir), index, ports, extras);
    await writeFile(properties, content, { mode: 0o600 });
    if (ids[index] === null) {
      await formatStorage(clusterId, dir, jars, properties, extras?.scramUsers);
    }
  };
  // The first broker is formatted last: if it has data, all brokers of the cluster do.
  await Promise.all(dirs.slice(1).map((dir, index) => format(dir, index + 1)));
  await format(dirs[0] ?? '', 0);
  return { dirs, ports, jars, clusterId };
};

const startBrokers = async (
  { logger, tied = false, brief = false }: KafkaClusterOptions,
  { dirs, ports, jars, clusterId }: PreparedCluster,
) => {
  const nodeIds = ports.map((_, index) => index + 1);
  const failed = new AbortController();
  /** Topics need a replica on each broker, so a new cluster is ready when each broker lists all of them. */
  let isFormed = false;

  const startBroker = async (dir: string, index: number) => {
    const startedAt = performance.now();
    const server = await startServer({
      port: ports[index]?.client ?? 0,
      begin: () =>
        launch({
          ...kafka,
          args: brokerArguments(jars, propertiesIn(dir), brief),
          dir,
          logFile: join(dir, 'kafka.log'),
          logger,
          tied,
          explain: explainJava,
        }),
      async ready(child, port) {
        const listed = isFormed ? [index + 1] : nodeIds;
        const isReady = async (): Promise<boolean> =>
          failed.signal.aborted || isBrokerReady(`127.0.0.1:${port}`, clusterId, listed);
        await untilReady(child, isReady);
        if (!failed.signal.aborted) return;
        await stopChild(child);
        throw new ServerFailed('another broker of the cluster failed to start');
      },
    });
    const { pid, port } = server;
    const ms = Math.round(performance.now() - startedAt);
    logger.info({ kafkaPid: pid, port, ms }, 'Kafka is ready');
    // A restart does not change the port.
    return Object.assign(server, { brokers: `127.0.0.1:${port}`, clusterId });
  };

  const starts = await Promise.allSettled(
    dirs.map(async (dir, index) => {
      try {
        return await startBroker(dir, index);
      } catch (error) {
        failed.abort(error); // A later call does not replace the reason.
        throw error;
      }
    }),
  );
  const servers = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  if (failed.signal.aborted) {
    await Promise.all(servers.map((server) => server.stop()));
    throw failed.signal.reason;
  }
  isFormed = true;
  return servers;
};

export type KafkaServer = Awaited<ReturnType<typeof startBrokers>>[number];

/**
 * Starts a Kafka cluster on 127.0.0.1 whose brokers are also its controllers, after terminating the processes that a
 * killed supervisor left running on their data. Cluster id and topics persist across restarts.
 *
 * @throws ServerUnavailable if Java or Maven is missing
 * @throws ServerFailed if a broker fails to start
 */
export const startKafkaCluster = async (
  options: KafkaClusterOptions,
): Promise<readonly KafkaServer[]> => {
  const { brokers, logger, version = kafkaVersions[0] } = options;
  const dirs = await Promise.all(
    brokers.map(({ dataDir }) => openServerDir({ dataDir, logger }, kafka)),
  );
  const jars = await kafkaJars(version, logger);
  const start = async () => startBrokers(options, await prepare(options, dirs, jars));
  return retry(start, {
    attempts,
    // A conflict on a port that the caller chose is an error.
    isRetryable: (error) =>
      error instanceof ServerFailed &&
      error.retryable &&
      brokers.every(({ port }) => port === undefined),
  });
};
