import { join } from 'node:path';
import { ConfigError } from '../../platform/process/config-error.js';
import { inheritedEnvironment, type Config } from '../../config/config.js';
import { urlOf } from '../../http/server.js';
import type { Logger } from '../../platform/logging.js';
import { hasBroker, startKafkaCluster } from '../kafka/index.js';
import { startEmbeddedPostgres } from '../postgres/index.js';
import { freePort } from '../process/server.js';
import { startRedis } from '../redis.js';
import { Parts, type Restarted } from './parts.js';
import { endOrphanServices, startService, type ServiceProcess } from './service.js';
import { gatherSpools } from './spools.js';
import {
  brokerDirs,
  brokersAtMost,
  serviceDir,
  topology,
  type Servers,
  type ServiceKind,
  type Variables,
} from './topology.js';

interface StackOptions {
  readonly counts: Readonly<Record<ServiceKind, number>>;
  /** How many Kafka brokers, where the stack starts its own. */
  readonly brokers: number;
  /** The operators' token, of all APIs. */
  readonly adminToken: string;
  /** The key of all projectors. */
  readonly sealKeyFile: string;
  /** Whether what dies is started again. */
  readonly restart: boolean;
  readonly onRestarted: (restarted: Restarted) => void;
  readonly logger: Logger;
}

/** Waits for all even where one fails: only what has started can be stopped. */
const allOf = async <const Values extends readonly unknown[]>(
  starting: Values,
): Promise<{ -readonly [Index in keyof Values]: Awaited<Values[Index]> }> => {
  await Promise.allSettled(starting);
  return Promise.all(starting);
};

/**
 * Checks that the data is of as many brokers. Each is a voter of the controller quorum, which has a fixed size.
 *
 * @throws ConfigError
 */
const checkBrokers = async (dataDir: string, wanted: number): Promise<void> => {
  const dirs = brokerDirs(dataDir, brokersAtMost);
  const [first, ...others] = await Promise.all(dirs.map(hasBroker));
  const found = others.lastIndexOf(true) + 2;
  // The first one gets its data last: without it, the first start was killed, and none has ever run.
  if (found > wanted || (first === true && found < wanted)) {
    throw new ConfigError(
      `DATA_DIR ${dataDir} has the data of ${found} Kafka brokers, and --brokers is ${wanted}; ` +
        `start with --brokers ${found}, or with another DATA_DIR`,
    );
  }
};

/** Starts the servers that the environment does not name; the addresses of all. */
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
  const [brokers, postgres, redis] = await allOf([
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

/** Passwords of the environment do not belong in the ready line. */
const withoutPassword = (address: string): string => {
  const url = new URL(address);
  url.password = '';
  return url.href;
};

/** Chosen before any API listens: each is told of all in OWN_HOSTS. */
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
    /** The ports of the first ones; the others get any free port. */
    known: readonly Readonly<Record<string, number>>[],
    variables: Variables<Kind>,
  ): Promise<ServiceProcess[]> =>
    allOf(
      Array.from({ length: counts[kind] }, (_, index) => {
        const ports = topology[kind].ports.map(
          (name) => [name, String(known[index]?.[name] ?? 0)] as const,
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

  const [edges, projectors] = await allOf([
    startAll('edge', [{ EDGE_PORT: config.edge.port }], { SPOOL_DIR: config.spool.root }),
    startAll('projector', [], { SEAL_KEY_FILE: sealKeyFile }),
  ]);
  // Short links lead to the first edge, which listens by now.
  const edgePort = new URL(edges[0]?.ready.edge ?? '').port;
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
    SHORT_URL_HOST: config.shortUrlHost ?? `http://localhost:${edgePort}`,
    // No destination may lead to a listener of ours.
    OWN_HOSTS: listeners.map((url) => new URL(url).host).join(','),
  });
  return { apis, edges };
};

/**
 * Starts the distributed topology as processes of this machine: the servers whose address is not
 * configured, then the services; after ending what a killed supervisor has left running. The caller
 * has the lock on the data directory.
 */
export const startStack = async (config: Config, options: StackOptions) => {
  const { logger, restart, onRestarted } = options;
  const parts = new Parts();
  try {
    await endOrphanServices(config.dataDir, logger);
    await gatherSpools(config.dataDir, config.spool.root, logger);
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
      /** What the ready line tells. */
      addresses,
      pids: parts.pids(),
      /** Of a new installation, shown this once; `null` where no key was made. */
      firstKey:
        apis.flatMap(({ ready: { firstKey, console } }) =>
          firstKey === undefined ? [] : [{ firstKey, ...(console !== undefined && { console }) }],
        )[0] ?? null,
      /** Drains the services, then ends the servers; within 10 s. */
      stop: () => parts.stop(),
    };
  } catch (error) {
    await parts.stop();
    throw error;
  }
};

export type StackAddresses = Awaited<ReturnType<typeof startStack>>['addresses'];
