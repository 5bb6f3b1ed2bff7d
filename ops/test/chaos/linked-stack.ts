import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { startKafkaCluster } from '../../local/kafka/index.js';
import { startEmbeddedPostgres } from '../../local/postgres/index.js';
import { layoutOf } from '../../local/postgres/layout.js';
import { minimalEnv } from '../../local/process/child.js';
import { stablePort } from '../../local/process/server.js';
import { startRedis } from '../../local/redis.js';
import {
  Parts,
  type PartKind,
  type Pids,
  brokerDirs,
  serviceDir,
  serviceKinds,
} from '../../local/stack/parts.js';
import { createLogger } from '../../platform/logging.js';
import { clockEnvironment, setClock } from '../support/clock.js';
import { startStackProcess, type RunningStack } from '../support/stack.js';
import { temporaryDir } from '../support/process.js';
import type { Disturbance } from '../support/tcp-proxy.js';
import { mountTmpfs, type Tmpfs } from '../support/tmpfs.js';
import { startPostgresPair } from './postgres-pair.js';

/** The network between a server and its clients. */
interface Link {
  /** The server's URL for its clients. */
  readonly url: string;
  /** @param slowMs latency of `slow`, each way; by default that of the proxy */
  disturb(how: Disturbance, slowMs?: number): void;
  mend(): void;
  close(): Promise<unknown>;
}

/** Relays in another thread, which load and checks do not slow down. */
const startLink = async (serverUrl: string): Promise<Link> => {
  const worker = new Worker(new URL('./link-worker.js', import.meta.url), {
    workerData: serverUrl,
  });
  const [url] = (await once(worker, 'message')) as [string];
  return {
    url,
    disturb(how, slowMs) {
      worker.postMessage({ how, slowMs });
    },
    mend() {
      worker.postMessage({ how: null });
    },
    close: () => worker.terminate(),
  };
};

/** The servers that services reach over a link. */
export const linkedKinds = ['kafka', 'postgres', 'redis'] as const;

type LinkedKind = (typeof linkedKinds)[number];

interface LinkedStackOptions {
  /** Kafka brokers. */
  readonly brokers: number;
  /** Processes of each service. */
  readonly nodes: number;
  /** Whether PostgreSQL has a synchronous standby and no link; by default, it has a link and no standby. */
  readonly hasStandby?: boolean;
  /** Whether clocks of services and PostgreSQL can be set, which needs faketime. */
  readonly hasClocks?: boolean;
  /** Whether the disks of the spools and of PostgreSQL can be filled, which needs root. */
  readonly hasDisks?: boolean;
}

/** A stack with servers behind links; `dataDir` is the folder of PostgreSQL. */
export interface LinkedStack extends RunningStack {
  /** A link for each server of a kind. */
  readonly links: Readonly<Record<LinkedKind, readonly Link[]>>;
  /** The addresses of all brokers behind their links, comma-separated. */
  readonly brokers: string;
  /** The parts whose clocks can be set. */
  readonly clocks: readonly PartKind[];
  setClock(kind: PartKind, index: number, seconds: number): Promise<void>;
  /** Disks that can be filled; that of `edge` has the spools of all edges. */
  readonly disks: Readonly<Partial<Record<PartKind, Tmpfs>>>;
  /** Of PostgreSQL, to its standby. */
  readonly failOver: ((outageMs: number) => Promise<void>) | null;
}

const logger = createLogger('silent');
const urlThrough = (url: string, { url: linkUrl }: Link): string => {
  const linked = new URL(url);
  linked.port = new URL(linkUrl).port;
  return linked.href;
};
const portOf = ({ url }: Link): number => Number(new URL(url).port);

/** The file of a clock, in the working directory of its process. */
const clockFile = 'clock';

/** MiB: the spools of some seconds, and max_wal_size with as much data. */
const diskSizes = { edge: 16, postgres: 2_048 };

/** Servers behind links, which are restarted when they exit, as in a stack. */
const startServers = async ({ brokers: brokerCount, ...options }: LinkedStackOptions) => {
  const { hasStandby = false, hasClocks = false, hasDisks = false } = options;
  const dataDir = await temporaryDir();
  const disks: Partial<Record<PartKind, Tmpfs>> = {};
  if (hasDisks) disks.edge = await mountTmpfs(diskSizes.edge);
  if (hasDisks && !hasStandby) disks.postgres = await mountTmpfs(diskSizes.postgres);
  const postgresDir = disks.postgres?.dir ?? dataDir;
  const restarts: string[] = [];
  const parts = new Parts();
  const startLinkTo = async (kind: LinkedKind) => {
    const port = await stablePort();
    return { port, link: await startLink(`${kind}://127.0.0.1:${port}`) };
  };
  const brokers = await Promise.all(
    brokerDirs(dataDir, brokerCount).map(async (dir) => {
      return { dataDir: dir, ...(await startLinkTo('kafka')) };
    }),
  );
  const postgresEndpoint = hasStandby ? null : await startLinkTo('postgres');
  const redisEndpoint = await startLinkTo('redis');
  const links = {
    kafka: brokers.map(({ link }) => link),
    postgres: postgresEndpoint ? [postgresEndpoint.link] : [],
    redis: [redisEndpoint.link],
  };
  const startBrokers = async (): Promise<void> => {
    const servers = await startKafkaCluster({
      brokers: brokers.map(({ link, ...broker }) => ({
        ...broker,
        change({ 'advertised.listeners': own = '', ...properties }) {
          const advertised = own.replace(`:${broker.port}`, `:${portOf(link)}`);
          return { ...properties, 'advertised.listeners': advertised };
        },
      })),
      ...{ logger, tied: true, brief: brokerCount > 1 },
    });
    for (const [index, server] of servers.entries()) {
      await parts.add('kafka', index, Promise.resolve(server));
    }
  };
  const pair = hasStandby ? await startPostgresPair() : null;
  const stop = async (): Promise<void> => {
    await parts.stop();
    await pair?.stop();
    await Promise.all(linkedKinds.flatMap((kind) => links[kind]).map((link) => link.close()));
    await Promise.all(Object.values(disks).map((disk) => disk.unmount()));
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const redisOptions = { dataDir: `${dataDir}/redis`, port: redisEndpoint.port };
    const startPostgres = async ({ port, link }: NonNullable<typeof postgresEndpoint>) => {
      const env = { ...minimalEnv, ...clockEnvironment(clockFile) };
      const findPort = (): Promise<number> => Promise.resolve(port);
      const server = { dataDir: postgresDir, logger, findPort, ...(hasClocks && { env }) };
      const postgres = await parts.add('postgres', 0, startEmbeddedPostgres(server));
      return { postgres, url: urlThrough(postgres.url, link) };
    };
    const [, single, redis] = await Promise.all([
      startBrokers(),
      postgresEndpoint && startPostgres(postgresEndpoint),
      parts.add('redis', 0, startRedis({ ...redisOptions, logger, tied: true })),
    ]);
    parts.keepRunning(logger, ({ service, index }) => restarts.push(`${service} ${index}`));
    // Kafka and Redis end with this process; PostgreSQL does not.
    const killPostgres = (): void => {
      single?.postgres.kill('SIGQUIT');
    };
    process.once('exit', killPostgres);
    return {
      dataDir: postgresDir,
      links,
      disks,
      failOver: pair && ((outageMs: number) => pair.failOver(outageMs)),
      env: {
        KAFKA_BROKERS: links.kafka.map((link) => `127.0.0.1:${portOf(link)}`).join(','),
        DATABASE_URL: pair?.url ?? single?.url ?? '',
        REDIS_URL: urlThrough(redis.url, redisEndpoint.link),
        ...(disks.edge && { SPOOL_DIR: disks.edge.dir }),
        ...(hasClocks && clockEnvironment(clockFile)),
      },
      pids: (): Pids => parts.pids(),
      restarts: (kind: PartKind, index: number): number =>
        restarts.filter((restarted) => restarted === `${kind} ${index}`).length,
      async stop() {
        process.off('exit', killPostgres);
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
};

const isLinked = (kind: PartKind): kind is LinkedKind =>
  (linkedKinds as readonly PartKind[]).includes(kind);

/** Starts services, and servers behind links. */
export const startLinkedStack = async (
  options: LinkedStackOptions,
  env: Readonly<Record<string, string>>,
): Promise<LinkedStack> => {
  const { nodes, hasStandby = false, hasClocks = false } = options;
  const servers = await startServers(options);
  try {
    const counts = ['--apis', '--edges', '--projectors'].flatMap((flag) => [flag, String(nodes)]);
    const clocks: PartKind[] = hasStandby ? [...serviceKinds] : [...serviceKinds, 'postgres'];
    const stack = await startStackProcess({ ...env, ...servers.env }, counts);
    const workingDir = (kind: PartKind, index: number): string =>
      isLinked(kind) ? layoutOf(servers.dataDir).cluster : serviceDir(stack.dataDir, kind, index);
    return {
      ...stack,
      dataDir: servers.dataDir,
      links: servers.links,
      disks: servers.disks,
      failOver: servers.failOver,
      clocks: hasClocks ? clocks : [],
      setClock: (kind, index, seconds) =>
        setClock(path.join(workingDir(kind, index), clockFile), seconds),
      brokers: servers.env.KAFKA_BROKERS,
      get pids() {
        const { kafka, postgres, redis } = servers.pids();
        return { ...stack.pids, kafka, postgres, redis };
      },
      restarts: (kind, index) =>
        isLinked(kind) ? servers.restarts(kind, index) : stack.restarts(kind, index),
      async stop() {
        const ended = await stack.stop();
        await servers.stop();
        return ended;
      },
    };
  } catch (error) {
    await servers.stop();
    throw error;
  }
};
