import type { Redis } from 'ioredis';
import type { Logger } from './logging.js';

/** A connection that expects an answer and hears nothing for so long is given up for a new one. */
const silentMs = 1_000;
const reconnectDelayMs = 500;

/**
 * A client that fails at once while Redis is away, rather than keep commands for later; it connects
 * in the background, for as long as it takes. Without Redis, its client is not loaded.
 */
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
  let away = false;
  redis.on('error', (err: unknown) => {
    // One line when it goes, not one for each try.
    if (away) return;
    away = true;
    logger.warn({ err }, 'the connection to Redis was lost');
  });
  redis.on('ready', () => {
    if (away) logger.info('the connection to Redis is back');
    away = false;
  });
  return redis;
};
