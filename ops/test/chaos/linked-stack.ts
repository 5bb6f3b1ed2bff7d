import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { startKafkaCluster } from '../../local/kafka/index.js';
import { startEmbeddedPostgres } from '../../local/postgres/index.js';
import { stablePort } from '../../local/process/server.js';
import { startRedis } from '../../local/redis.js';
import { Parts, type PartKind, type Pids, brokerDirs } from '../../local/stack/parts.js';
import { createLogger } from '../../platform/logging.js';
import { startStackProcess, type RunningStack } from '../support/stack.js';
import { temporaryDir } from '../support/process.js';
import type { Disturbance } from '../support/tcp-proxy.js';

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

/** A stack with servers behind links; `dataDir` is the folder of PostgreSQL. */
export interface LinkedStack extends RunningStack {
  /** A link for each server of a kind. */
  readonly links: Readonly<Record<LinkedKind, readonly Link[]>>;
  /** The addresses of all brokers behind their links, comma-separated. */
  readonly brokers: string;
}

const logger = createLogger('silent');
const urlThrough = (url: string, { url: linkUrl }: Link): string => {
  const linked = new URL(url);
  linked.port = new URL(linkUrl).port;
  return linked.href;
};
const portOf = ({ url }: Link): number => Number(new URL(url).port);

/** Servers behind links, which are restarted when they exit, as in a stack. */
const startServers = async (brokerCount: number) => {
  const dataDir = await temporaryDir();
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
  const postgresEndpoint = await startLinkTo('postgres');
  const redisEndpoint = await startLinkTo('redis');
  const links = {
    kafka: brokers.map(({ link }) => link),
    postgres: [postgresEndpoint.link],
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
  const stop = async (): Promise<void> => {
    await parts.stop();
    await Promise.all(linkedKinds.flatMap((kind) => links[kind]).map((link) => link.close()));
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const redisOptions = { dataDir: `${dataDir}/redis`, port: redisEndpoint.port };
    const findPort = (): Promise<number> => Promise.resolve(postgresEndpoint.port);
    const [, postgres, redis] = await Promise.all([
      startBrokers(),
      parts.add('postgres', 0, startEmbeddedPostgres({ dataDir, logger, findPort })),
      parts.add('redis', 0, startRedis({ ...redisOptions, logger, tied: true })),
    ]);
    parts.keepRunning(logger, ({ service, index }) => restarts.push(`${service} ${index}`));
    // Kafka and Redis end with this process; PostgreSQL does not.
    const killPostgres = (): void => {
      postgres.kill('SIGQUIT');
    };
    process.once('exit', killPostgres);
    return {
      dataDir,
      links,
      env: {
        KAFKA_BROKERS: links.kafka.map((link) => `127.0.0.1:${portOf(link)}`).join(','),
        DATABASE_URL: urlThrough(postgres.url, postgresEndpoint.link),
        REDIS_URL: urlThrough(redis.url, redisEndpoint.link),
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

/** Starts servers behind links, with `brokers` Kafka brokers, and `nodes` processes of each service. */
export const startLinkedStack = async (
  { brokers: brokerCount, nodes }: { readonly brokers: number; readonly nodes: number },
  env: Readonly<Record<string, string>>,
): Promise<LinkedStack> => {
  const servers = await startServers(brokerCount);
  try {
    const counts = ['--apis', '--edges', '--projectors'].flatMap((flag) => [flag, String(nodes)]);
    const stack = await startStackProcess({ ...env, ...servers.env }, counts);
    return {
      ...stack,
      dataDir: servers.dataDir,
      links: servers.links,
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
