import { Redis } from 'ioredis';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../platform/errors.js';
import { FileExists, writeNewFile } from '../platform/files/new-file.js';
import { launch, untilReady } from './process/child.js';
import { ServerUnavailable } from './process/errors.js';
import { freePort, openServerDir, startServer, type ServerOptions } from './process/server.js';

interface RedisOptions extends ServerOptions {
  /** Whether the data is saved to `dump.rdb` at `stop` and loaded at a start; by default it is lost. */
  readonly dump?: boolean;
}

const redis = { name: 'Redis', program: 'redis-server' } as const;

const configFileIn = (dir: string): string => join(dir, 'redis.conf');

/**
 * Returns the password, which the first start generates. Redis reads it from a file, because every user of the machine
 * can read a command line.
 */
const passwordIn = async (dir: string): Promise<string> => {
  const file = configFileIn(dir);
  const content = `requirepass ${randomBytes(24).toString('base64url')}\n`;
  try {
    await writeNewFile(file, { replace: false }, (append) => append(Buffer.from(content)));
  } catch (error) {
    if (!(error instanceof FileExists)) throw error;
  }
  return (await readFile(file, 'utf8')).trim().replace('requirepass ', '');
};

const redisArguments = (dir: string, port: number, dump: boolean): string[] => [
  configFileIn(dir),
  ...['--bind', '127.0.0.1', '--port', String(port), '--dir', dir],
  // No save at runtime, because cached copies expire after a minute.
  ...['--appendonly', 'no', '--save', dump ? '86400 1' : ''],
  ...['--maxmemory', '256mb', '--maxmemory-policy', 'allkeys-lru'],
];

/** Compares the pid, because another process may have taken the port. */
const isRedisReady = async (port: number, password: string, pid: number): Promise<boolean> => {
  const client = new Redis(port, '127.0.0.1', {
    password,
    lazyConnect: true,
    connectTimeout: 2_000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  // `connect` and `ping` reject with the same error. Without a listener, ioredis would print it.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.ping();
    return (await client.info('server')).includes(`process_id:${pid}\r\n`);
  } catch {
    // `untilReady` retries until its deadline and detects an exit of the server.
    return false;
  } finally {
    client.disconnect();
  }
};

const explainRedis = (error: unknown): unknown =>
  hasCode(error, 'ENOENT')
    ? new ServerUnavailable(
        'redis-server is not in PATH; install it (apt-get install redis-server), or set REDIS_URL to an existing Redis',
        { cause: error },
      )
    : error;

/**
 * Starts a Redis on 127.0.0.1 after ending the orphans in its directory. Its URL contains its password.
 *
 * @throws ServerUnavailable if redis-server is missing
 * @throws ServerFailed if it fails to start
 */
export const startRedis = async (options: RedisOptions) => {
  const { logger, dump = false, tied = false } = options;
  const dir = await openServerDir(options, redis);
  const password = await passwordIn(dir);
  const server = await startServer({
    port: options.port ?? freePort,
    begin: (port) =>
      launch({
        ...redis,
        args: redisArguments(dir, port, dump),
        dir,
        logFile: join(dir, 'redis.log'),
        logger,
        tied,
        explain: explainRedis,
      }),
    ready: (child, port) => untilReady(child, () => isRedisReady(port, password, child.pid)),
  });
  const { pid, port } = server;
  logger.info({ redisPid: pid, port }, 'Redis is ready');
  // A restart does not change the port.
  return Object.assign(server, { url: `redis://:${password}@127.0.0.1:${port}` });
};

export type RedisServer = Awaited<ReturnType<typeof startRedis>>;
