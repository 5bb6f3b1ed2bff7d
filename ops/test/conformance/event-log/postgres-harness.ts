import { testDatabase, type TestDatabase } from '../../support/database.js';
import { createLogger, type Logger } from '../../../platform/logging.js';
import { execute, createPool, transaction, type Pool } from '../../../platform/postgres/pool.js';
import type { PostgresLog } from '../../../event-log/postgres-log.js';
import type { LogClient, LogHarness } from './harness.js';
import { openTestLog } from '../../support/node.js';

const silent = createLogger('silent');

class RolledBack extends Error {}

export interface PostgresClient extends LogClient, PostgresLog {
  readonly pool: Pool;
}

interface PostgresHarness extends LogHarness {
  readonly database: TestDatabase;
  connect(logger?: Logger): Promise<PostgresClient>;
}

/** The pool and the log of a process. */
export const connectPostgres = async (
  url: string,
  {
    logger = silent,
    ...settings
  }: { readonly logger?: Logger; readonly announcementMs?: number } = {},
): Promise<PostgresClient> => {
  const pool = createPool({ url, name: 'conformance', max: 6, logger });
  const opening = openTestLog({ pool, url, logger, ...settings });
  const { log, outbox } = await opening.catch(async (error: unknown) => {
    await pool.end();
    throw error;
  });
  return {
    pool,
    log,
    outbox,
    async crash() {
      await log.close();
      await pool.end();
    },
  };
};

/** Closes all other connections to the database. */
const cutConnections = async (pool: Pool): Promise<void> => {
  await pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
};

/** The embedded log, in a new database. */
export const openPostgresHarness = async (name: string): Promise<PostgresHarness> => {
  const database = await testDatabase(name);
  const ledger = await connectPostgres(database.url);
  const clients = new Set<PostgresClient>([ledger]);
  return {
    database,
    async connect(logger = silent) {
      const client = await connectPostgres(database.url, { logger });
      const crash = async (): Promise<void> => {
        if (clients.delete(crashable)) await client.crash();
      };
      const crashable = { ...client, crash };
      clients.add(crashable);
      return crashable;
    },
    async decide(events, { hold, rollBack = false } = {}) {
      try {
        await transaction(ledger.pool, async (tx) => {
          await execute(tx, ledger.outbox.record(events));
          await hold;
          if (rollBack) throw new RolledBack();
        });
      } catch (error) {
        if (!(error instanceof RolledBack)) throw error;
      }
    },
    async notifyMoved(group) {
      await database.pool.query(`SELECT pg_notify('linklog_log', $1)`, [group]);
    },
    cutConnections: () => cutConnections(database.pool),
    async close() {
      for (const client of clients) await client.crash();
      await database.drop();
    },
  };
};
