import type { Redis } from 'ioredis';
import type { Logger } from './logging.js';

/** How long a connection may wait for a response before it is replaced (ms). */
const silentMs = 1_000;
const reconnectDelayMs = 500;

/** Opens a client that connects in the background and rejects commands while Redis is unreachable. */
export const openRedis = async (url: string, logger: Logger): Promise<Redis> => {
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, {
    connectionName: 'linklog',
    connectTimeout: 2_000,
    socketTimeout: silentMs,
    retryStrategy: () => reconnectDelayMs,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  });
  let isLost = false;
  redis.on('error', (err: unknown) => {
    // One line for each loss rather than for each attempt.
    if (isLost) return;
    isLost = true;
    logger.warn({ err }, 'the connection to Redis was lost');
  });
  redis.on('ready', () => {
    if (isLost) logger.info('the connection to Redis is back');
    isLost = false;
  });
  return redis;
};
