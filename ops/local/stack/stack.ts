import { join } from 'node:path';
import { ConfigError } from '../../platform/errors.js';
import { inheritedEnvironment, type Config } from '../../config/config.js';
import { urlOf } from '../../http/server.js';
import type { Logger } from '../../platform/logging.js';
import { hasBroker, startKafkaCluster } from '../kafka/index.js';
import { startEmbeddedPostgres } from '../postgres/index.js';
import { freePort } from '../process/server.js';
import { startRedis } from '../redis.js';
import {
  Parts,
  type Restarted,
  brokerDirs,
  maxBrokers,
  serviceDir,
  topology,
  type Servers,
  type ServiceKind,
  type Variables,
} from './parts.js';
import { endOrphanServices, startService, type ServiceProcess } from './service.js';

interface StackOptions {
  readonly counts: Readonly<Record<ServiceKind, number>>;
  /** The number of Kafka brokers if the stack starts its own. */
  readonly brokers: number;
  readonly adminToken: string;
  readonly sealKeyFile: string;
  readonly restart: boolean;
  readonly onRestarted: (restarted: Restarted) => void;
  readonly logger: Logger;
}

/** Waits for all promises even if one rejects: only a process that has started can be stopped. */
const awaitAll = async <const Values extends readonly unknown[]>(
  starting: Values,
): Promise<{ -readonly [Index in keyof Values]: Awaited<Values[Index]> }> => {
  await Promise.allSettled(starting);
  return Promise.all(starting);
};

/**
 * Checks that the data directory contains the data of `wanted` brokers: the size of the controller quorum is fixed.
 *
 * @throws ConfigError
 */
const checkBrokers = async (dataDir: string, wanted: number): Promise<void> => {
  const dirs = brokerDirs(dataDir, maxBrokers);
  const [first, ...others] = await Promise.all(dirs.map(hasBroker));
  const found = others.lastIndexOf(true) + 2;
  // The first broker is formatted last. If it has no data, the first start was killed before any broker ran.
  if (found > wanted || (first === true && found < wanted)) {
    throw new ConfigError(
      `DATA_DIR ${dataDir} contains the data of ${found} Kafka brokers, but --brokers is ${wanted}; ` +
        `start with --brokers ${found}, or with another DATA_DIR`,
    );
  }
};

/** Starts the servers that the environment does not name; returns the addresses of all servers. */
const startServers = async (
  { dataDir, kafka, databaseUrl, redisUrl, eventStoreUrl }: Config,
  { brokers: brokerCount, logger }: StackOptions,
  parts: Parts,
): Promise<Servers> => {
  if (kafka === null) await checkBrokers(dataDir, brokerCount);
  const ownKafka = async (): Promise<string> => {
    const brokers = brokerDirs(dataDir, brokerCount).map((dir) => ({ dataDir: dir }));
    const started = await startKafkaCluster({ brokers, logger });
    for (const [index, broker] of started.entries()) {
      await parts.add('kafka', index, Promise.resolve(broker));
    }
    return started.map(({ brokers: address }) => address).join(',');
  };
  const ownPostgres = async (): Promise<string> => {
    const starting = startEmbeddedPostgres({ dataDir, logger });
    return (await parts.add('postgres', 0, starting)).url;
  };
  const ownRedis = async (): Promise<string> => {
    const starting = startRedis({ dataDir: join(dataDir, 'redis'), logger });
    return (await parts.add('redis', 0, starting)).url;
  };
  const [brokers, postgres, redis] = await awaitAll([
    kafka?.brokers.join(',') ?? ownKafka(),
    databaseUrl ?? ownPostgres(),
    redisUrl ?? ownRedis(),
  ] as const);
  return {
    KAFKA_BROKERS: brokers,
    DATABASE_URL: postgres,
    REDIS_URL: redis,
    EVENTSTORE_URL: eventStoreUrl ?? '',
  };
};

/** The ready line must not contain passwords of the environment. */
const withoutPassword = (address: string): string =>
  // Not as a URL, because DATABASE_URL may have several hosts.
  address.replace(/^(\w+:\/\/)([^:@/?#]*)(?::[^/?#]*)?@/, (_, scheme: string, user: string) =>
    user === '' ? scheme : `${scheme}${user}@`,
  );

/** Chosen before any API starts, because each API gets the addresses of all APIs in OWN_HOSTS. */
const apiPortsOf = (
  { api, admin }: Config,
  count: number,
): Promise<{ API_PORT: number; ADMIN_PORT: number }[]> => {
  const portOf = async (configured: number, index: number): Promise<number> =>
    index === 0 && configured !== 0 ? configured : freePort();
  return Promise.all(
    Array.from({ length: count }, async (_, index) => ({
      API_PORT: await portOf(api.port, index),
      ADMIN_PORT: await portOf(admin.port, index),
    })),
  );
};

const startServices = async (
  config: Config,
  servers: Servers,
  { counts, adminToken, sealKeyFile, logger }: StackOptions,
  parts: Parts,
): Promise<{ apis: ServiceProcess[]; edges: ServiceProcess[] }> => {
  const startAll = <Kind extends ServiceKind>(
    kind: Kind,
    /** The ports of the first services; the others use any free port. */
    fixedPorts: readonly Readonly<Record<string, number>>[],
    variables: Variables<Kind>,
  ): Promise<ServiceProcess[]> =>
    awaitAll(
      Array.from({ length: counts[kind] }, (_, index) => {
        const ports = topology[kind].ports.map(
          (name) => [name, String(fixedPorts[index]?.[name] ?? 0)] as const,
        );
        const service = startService({
          kind,
          index,
          dir: serviceDir(config.dataDir, kind, index),
          env: { ...inheritedEnvironment(), ...servers, ...variables },
          ports: Object.fromEntries(ports),
          logger,
        });
        return parts.add(kind, index, service);
      }),
    );

  // Short links point to the first edge. All edges recognise its pages as referrers.
  const edgePort = config.edge.port === 0 ? await freePort() : config.edge.port;
  const shortUrlHost = config.shortUrlHost ?? `http://localhost:${edgePort}`;
  const edgeVariables = { SPOOL_DIR: config.spool.root, SHORT_URL_HOST: shortUrlHost };
  const [edges, projectors] = await awaitAll([
    startAll('edge', [{ EDGE_PORT: edgePort }], edgeVariables),
    startAll('projector', [], { SEAL_KEY_FILE: sealKeyFile }),
  ]);
  const apiPorts = await apiPortsOf(config, counts.api);
  const listeners = [
    ...config.ownHosts,
    ...[...edges, ...projectors].flatMap(({ ready }) => [ready.edge ?? [], ready.admin].flat()),
    ...apiPorts.flatMap(({ API_PORT, ADMIN_PORT }) => [
      urlOf({ host: config.api.host, port: API_PORT }),
      urlOf({ host: config.admin.host, port: ADMIN_PORT }),
    ]),
  ];
  const apis = await startAll('api', apiPorts, {
    ADMIN_TOKEN: adminToken,
    SHORT_URL_HOST: shortUrlHost,
    // A destination must not point to one of our own listeners.
    OWN_HOSTS: listeners.map((url) => new URL(url).host).join(','),
  });
  return { apis, edges };
};

/**
 * Starts the distributed topology as processes of this machine, after ending the orphans of a killed supervisor: first
 * the servers whose address is not configured, then the services. The caller holds the lock on the data directory.
 */
export const startStack = async (config: Config, options: StackOptions) => {
  const { logger, restart, onRestarted } = options;
  const parts = new Parts();
  try {
    await endOrphanServices(config.dataDir, logger);
    const servers = await startServers(config, options, parts);
    const { DATABASE_URL: postgres, REDIS_URL: redis } = servers;
    const { apis, edges } = await startServices(config, servers, options, parts);
    if (restart) parts.keepRunning(logger, onRestarted);
    const addresses = {
      apis: apis.map(({ ready }) => ready.api ?? ''),
      edges: edges.map(({ ready }) => ready.edge ?? ''),
      admin: apis[0]?.ready.admin ?? '',
      kafka: servers.KAFKA_BROKERS,
      postgres: config.databaseUrl === null ? postgres : withoutPassword(postgres),
      redis: config.redisUrl === null ? redis : withoutPassword(redis),
    };
    return {
      addresses,
      pids: parts.pids(),
      /** Only a new installation creates it; the key is shown this once. */
      firstKey: apis.find(({ ready }) => ready.key)?.ready.key ?? null,
      /** Makes the services not ready, although they still serve. */
      beginDraining: () => {
        parts.beginDraining();
      },
      /** Drains the services, then stops the servers, within 10 s. */
      stop: () => parts.stop(),
    };
  } catch (error) {
    await parts.stop();
    throw error;
  }
};

export type StackAddresses = Awaited<ReturnType<typeof startStack>>['addresses'];
