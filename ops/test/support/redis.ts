import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { atEnd } from './at-end.js';
import { createLogger } from '../../platform/logging.js';
import { startRedis, type RedisServer } from '../../local/redis.js';

const logger = createLogger('silent');

// Shared by all files of a mocha process.
let starting: Promise<RedisServer> | null = null;

const start = async (): Promise<RedisServer> => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'linklog-test-redis-'));
  const server = await startRedis({ dataDir, logger, tied: true });
  atEnd(async () => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return server;
};

/** The shared Redis: each test uses a unique prefix for its keys. */
export const testRedis = (): Promise<RedisServer> => (starting ??= start());
