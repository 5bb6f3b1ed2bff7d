import { stopTestServer } from './database.js';

/** Mocha calls it once, before the first test. The server starts at its first use, if any. */
export const mochaGlobalSetup = (): void => undefined;

/** Mocha calls it once, after the last test. */
export const mochaGlobalTeardown = (): Promise<void> => stopTestServer();
