import { Redis } from 'ioredis';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../platform/errors.js';
import { FileExists, writeNewFile } from '../platform/files/new-file.js';
import { launch, untilReady } from './process/child.js';
import { ServerUnavailable } from './process/errors.js';
import { freePort, openServerDir, startServer, type ServerOptions } from './process/server.js';

export interface RedisOptions extends ServerOptions {
  /** Whether what it holds is written to `dump.rdb` at `stop`, and read at a start; by default it forgets. */
  readonly dump?: boolean;
  /** More of redis-server's own options, the last word. */
  readonly args?: readonly string[];
}

const redis = { name: 'Redis', program: 'redis-server' } as const;

const configFileIn = (dir: string): string => join(dir, 'redis.conf');

/**
 * The password, which is made at the first start. Redis reads it from a file: on the command line, every
 * user of the machine would see it.
 */
const passwordIn = async (dir: string): Promise<string> => {
  const file = configFileIn(dir);
  const made = `requirepass ${randomBytes(24).toString('base64url')}\n`;
  try {
    await writeNewFile(file, { replace: false }, (append) => append(Buffer.from(made)));
  } catch (error) {
    if (!(error instanceof FileExists)) throw error;
  }
  return (await readFile(file, 'utf8')).trim().replace('requirepass ', '');
};

const redisArguments = (dir: string, port: number, dump: boolean): string[] => [
  configFileIn(dir),
  ...['--bind', '127.0.0.1', '--port', String(port), '--dir', dir],
  // No save while it runs: a cache's copies live for a minute.
  ...['--appendonly', 'no', '--save', dump ? '86400 1' : ''],
  // Full, it forgets what was not asked for lately, rather than refuse.
  ...['--maxmemory', '256mb', '--maxmemory-policy', 'allkeys-lru'],
];

/** Whether the Redis with this pid answers there: another process may have taken the port. */
const redisAnswers = async (port: number, password: string, pid: number): Promise<boolean> => {
  const client = new Redis(port, '127.0.0.1', {
    password,
    lazyConnect: true,
    connectTimeout: 2_000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  // What it reports is what `connect` and `ping` reject with, too; unheard, it would be printed.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.ping();
    return (await client.info('server')).includes(`process_id:${pid}\r\n`);
  } catch {
    // Tried again until the deadline; an end of the server is seen as such.
    return false;
  } finally {
    client.disconnect();
  }
};

const explainRedis = (error: unknown): unknown =>
  hasCode(error, 'ENOENT')
    ? new ServerUnavailable(
        'redis-server is not in PATH; install it (apt-get install redis-server), or set REDIS_URL to a Redis of your own',
        { cause: error },
      )
    : error;

/**
 * Starts a Redis on 127.0.0.1 with a password, which its URL has, after ending what a killed process left
 * running in this folder.
 *
 * @throws ServerUnavailable when redis-server is missing
 * @throws ServerFailed when it should run here and does not
 */
export const startRedis = async (options: RedisOptions) => {
  const { logger, dump = false, args = [], tied = false } = options;
  const dir = await openServerDir(options, redis);
  const password = await passwordIn(dir);
  const server = await startServer({
    port: options.port ?? freePort,
    begin: (port) =>
      launch({
        ...redis,
        args: [...redisArguments(dir, port, dump), ...args],
        dir,
        logFile: join(dir, 'redis.log'),
        logger,
        tied,
        explain: explainRedis,
      }),
    ready: (child, port) => untilReady(child, () => redisAnswers(port, password, child.pid)),
  });
  const { pid, port } = server;
  logger.info({ redisPid: pid, port }, 'Redis is ready');
  // A restart keeps the address.
  return Object.assign(server, { url: `redis://:${password}@127.0.0.1:${port}` });
};

export type RedisServer = Awaited<ReturnType<typeof startRedis>>;
