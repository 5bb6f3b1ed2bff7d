import { rm } from 'node:fs/promises';
import { testDatabase, type TestDatabase } from './database.js';
import { fixture, type FixtureOptions } from './fixture.js';
import { testKafka, type TestKafka } from './kafka.js';
import { testNode, type TestNode } from './node.js';
import { temporaryDir } from './process.js';

/** A database with all migrations applied; `name` is of letters. Its end fails when a connection was left open. */
export const databaseFixture = (name: string, options?: FixtureOptions): TestDatabase =>
  fixture(
    () => testDatabase(name),
    (database) => database.drop(),
    options,
  );

/** A pool, outbox, clock and log on a database, as a process has them. */
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

/** Topics with a prefix of their own on the test's Kafka. */
export const kafkaFixture = (name: string, options?: FixtureOptions): TestKafka =>
  fixture(
    () => testKafka(name),
    (kafka) => kafka.drop(),
    options,
  );

/** A new empty folder; `path` is its absolute path. */
export const folderFixture = (options?: FixtureOptions): { readonly path: string } =>
  fixture(
    async () => ({ path: await temporaryDir() }),
    (folder) => rm(folder.path, { recursive: true, force: true }),
    options,
  );
