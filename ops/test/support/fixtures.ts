import { rm } from 'node:fs/promises';
import type { Browser } from 'playwright-core';
import {
  startSafeBrowsingDouble,
  type SafeBrowsingDouble,
} from '../../../command-api/safety/testing/safe-browsing-double.js';
import { browserPrograms, sharedBrowser } from './browser.js';
import { testDatabase, type TestDatabase } from './database.js';
import { startEventStoreDouble, type EventStoreDouble } from './eventstore/double.js';
import { fixture, type FixtureOptions } from './fixture.js';
import { kafkaPrograms, testKafka, type TestKafka } from './kafka.js';
import { testNode, type TestNode } from './node.js';
import { temporaryDir } from './process.js';

/** The Chromium of this mocha process. The tear-down closes all its pages. */
export const browserFixture = (): Browser =>
  fixture(
    () => sharedBrowser(),
    async (browser) => {
      for (const context of browser.contexts()) await context.close();
    },
    { needs: [browserPrograms.join(' or ')] },
  );

/** A database with all migrations; `name` consists of letters. The tear-down fails if a connection is open. */
export const databaseFixture = (name: string, options?: FixtureOptions): TestDatabase =>
  fixture(
    () => testDatabase(name),
    (database) => database.drop(),
    options,
  );

/** The pool, outbox, clock and log of a process on a database. */
export const ledgerFixture = (database: TestDatabase, options?: FixtureOptions): TestNode =>
  fixture(
    () => testNode(database),
    (ledger) => ledger.close(),
    options,
  );

/** Two processes on one database. */
export const twoLedgersFixture = (
  database: TestDatabase,
  options?: FixtureOptions,
): readonly [TestNode, TestNode] => [
  ledgerFixture(database, options),
  ledgerFixture(database, options),
];

/** Topics with a unique prefix on the shared Kafka. */
export const kafkaFixture = (name: string, options?: FixtureOptions): TestKafka =>
  fixture(
    () => testKafka(name),
    (kafka) => kafka.drop(),
    { needs: kafkaPrograms, ...options },
  );

/** A local server with the protocol of Safe Browsing. */
export const safeBrowsingFixture = (options?: FixtureOptions): SafeBrowsingDouble =>
  fixture(
    () => startSafeBrowsingDouble(),
    (double) => double.stop(),
    options,
  );

/** A local server with the protocol of EventStoreDB. */
export const eventStoreFixture = (): EventStoreDouble =>
  fixture(
    () => startEventStoreDouble(),
    (double) => {
      double.kill();
    },
  );

/** A new empty folder; `path` is its absolute path. */
export const folderFixture = (options?: FixtureOptions): { readonly path: string } =>
  fixture(
    async () => ({ path: await temporaryDir() }),
    (folder) => rm(folder.path, { recursive: true, force: true }),
    options,
  );
