import { rm } from 'node:fs/promises';
import { startKafka } from '../../local/kafka/index.js';
import { startEmbeddedPostgres } from '../../local/postgres/index.js';
import { stablePort } from '../../local/process/server.js';
import { startRedis } from '../../local/redis.js';
import { Parts, type PartKind, type Pids } from '../../local/stack/parts.js';
import { createLogger } from '../../platform/logging.js';
import { startStackProcess, type RunningStack } from '../support/stack.js';
import { temporaryDir } from '../support/process.js';
import { startLink, type Link } from './link.js';

/** The servers that services reach over a link. */
export const linkedKinds = ['kafka', 'postgres', 'redis'] as const;

export type LinkedKind = (typeof linkedKinds)[number];

/** A stack whose servers are behind links; `dataDir` is that of its PostgreSQL. */
export interface LinkedStack extends RunningStack {
  readonly links: Readonly<Record<LinkedKind, Link>>;
}

const logger = createLogger('silent');
const hostOf = (url: string): string => new URL(url).host;
const behind = (url: string, { url: linkUrl }: Link): string => {
  const linked = new URL(url);
  linked.port = new URL(linkUrl).port;
  return linked.href;
};

/** Servers of our own, each behind a link, and started again when they die, as the stack does it. */
const startServers = async () => {
  const dataDir = await temporaryDir();
  const restarts: PartKind[] = [];
  const parts = new Parts();
  const ports = {
    kafka: await stablePort(),
    postgres: await stablePort(),
    redis: await stablePort(),
  };
  const linkTo = (kind: LinkedKind): Promise<Link> =>
    startLink(`${kind}://127.0.0.1:${ports[kind]}`);
  const links = {
    kafka: await linkTo('kafka'),
    postgres: await linkTo('postgres'),
    redis: await linkTo('redis'),
  };
  const stop = async (): Promise<void> => {
    await parts.stop();
    await Promise.all(linkedKinds.map((kind) => links[kind].close()));
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const kafkaOptions = {
      dataDir: `${dataDir}/kafka`,
      port: ports.kafka,
      advertisedPort: Number(new URL(links.kafka.url).port),
    };
    const redisOptions = { dataDir: `${dataDir}/redis`, port: ports.redis };
    const findPort = (): Promise<number> => Promise.resolve(ports.postgres);
    const [, postgres, redis] = await Promise.all([
      parts.add('kafka', 0, startKafka({ ...kafkaOptions, logger, tied: true })),
      parts.add('postgres', 0, startEmbeddedPostgres({ dataDir, logger, findPort })),
      parts.add('redis', 0, startRedis({ ...redisOptions, logger, tied: true })),
    ]);
    parts.keepRunning(logger, ({ service }) => restarts.push(service));
    // Kafka and Redis are tied to this process; PostgreSQL would outlive it.
    const endWithUs = (): void => {
      postgres.kill('SIGQUIT');
    };
    process.once('exit', endWithUs);
    return {
      dataDir,
      links,
      env: {
        KAFKA_BROKERS: hostOf(links.kafka.url),
        DATABASE_URL: behind(postgres.url, links.postgres),
        REDIS_URL: behind(redis.url, links.redis),
      },
      pids: (): Pids => parts.pids(),
      restarts: (kind: PartKind): number => restarts.filter((one) => one === kind).length,
      async stop() {
        process.off('exit', endWithUs);
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

/** Starts servers behind links, and the stack's services on them. */
export const startLinkedStack = async (
  env: Readonly<Record<string, string>>,
): Promise<LinkedStack> => {
  const servers = await startServers();
  try {
    const stack = await startStackProcess({ ...env, ...servers.env });
    return {
      ...stack,
      dataDir: servers.dataDir,
      links: servers.links,
      get pids() {
        const { kafka, postgres, redis } = servers.pids();
        return { ...stack.pids, kafka, postgres, redis };
      },
      restarts: (kind, index) =>
        isLinked(kind) ? servers.restarts(kind) : stack.restarts(kind, index),
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
