import { stopTestServer } from './database.js';
import { stopTestKafka } from './kafka.js';
import { stopTestRedis } from './redis.js';
import '../venv-path.js';

/** Called before the first test. Servers start at their first use. */
export const mochaGlobalSetup = (): void => undefined;

/** Called after the last test. */
export const mochaGlobalTeardown = async (): Promise<void> => {
  await Promise.all([stopTestServer(), stopTestKafka(), stopTestRedis()]);
};
