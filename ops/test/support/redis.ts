import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLogger } from '../../platform/logging.js';
import { startRedis, type RedisServer } from '../../local/redis.js';

interface TestServer {
  readonly server: RedisServer;
  readonly dataDir: string;
}

const logger = createLogger('silent');

// Shared by all files of a mocha process.
let starting: Promise<TestServer> | null = null;

const start = async (): Promise<TestServer> => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'linklog-test-redis-'));
  return { dataDir, server: await startRedis({ dataDir, logger, tied: true }) };
};

/** The shared Redis: each test uses a unique prefix for its keys. */
export const testRedis = async (): Promise<RedisServer> => {
  starting ??= start();
  return (await starting).server;
};

/** Stops the server, if it was started. */
export const stopTestRedis = async (): Promise<void> => {
  if (starting === null) return;
  const { server, dataDir } = await starting;
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
};
