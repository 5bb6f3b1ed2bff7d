import { stopTestServer } from './database.js';
import { stopTestKafka } from './kafka.js';
import { stopTestRedis } from './redis.js';

/** Mocha calls it once, before the first test. Servers start at their first use, if any. */
export const mochaGlobalSetup = (): void => undefined;

/** Mocha calls it once, after the last test. */
export const mochaGlobalTeardown = async (): Promise<void> => {
  await Promise.all([stopTestServer(), stopTestKafka(), stopTestRedis()]);
};
