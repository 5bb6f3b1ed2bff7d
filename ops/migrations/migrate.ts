import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { PoolClient } from 'pg';
import { advisoryLocks } from '../advisory-locks.js';
import { retry } from '../platform/concurrency/retry.js';
import { hasCode, ConfigError } from '../platform/errors.js';
import { linklogVersion, projectFile } from '../platform/files/project-file.js';
import { requireVersion } from '../platform/postgres/connection-fault.js';
import { generation } from '../platform/postgres/generation.js';
import {
  transaction,
  transactionOn,
  withConnection,
  type Pool,
  type Queryable,
} from '../platform/postgres/pool.js';
import { linklogCommand } from '../platform/process/own-command.js';
import { reportProgress, type Progress } from './progress.js';

const migrationFolder = projectFile('ops/migrations');
const migrationPattern = /^\d{4}_.+\.sql$/;

/** Release 0.2.0 had the files 0001 to 0058. `upgradeFile` replaces those from the first to the last one below. */
const lastOfRelease020 = '0058_link_start.sql';
const upgradeFile = 'upgrade-0.2.0.sql';
const firstReplaced = '0101_log.sql';
const lastReplaced = '0103_projections.sql';

/** A later version of Linklog has raised the generation of the tables. */
export class DatabaseTooNew extends ConfigError {
  override readonly code = 'DATABASE_TOO_NEW';

  constructor(found: number) {
    super(
      `The tables in PostgreSQL have generation ${found}, and this version (${linklogVersion()}) writes ` +
        `generation ${generation}: start the version that migrated them, or a later one`,
    );
  }
}

/** The database is not migrated to this version yet. */
class DatabaseTooOld extends Error {
  readonly code = 'DATABASE_TOO_OLD';
}

/** A restore into this database was interrupted: the database contains a part of the backup. */
export class RestoreUnfinished extends Error {
  readonly code = 'RESTORE_UNFINISHED';

  constructor() {
    super(
      'A restore into this installation was interrupted, so it contains only a part of the backup: ' +
        'empty it (embedded: remove "postgres" in DATA_DIR; otherwise create the database, and the ' +
        'topics on Kafka, again), and repeat the restore',
    );
  }
}

// Exists only during a restore.
const table = 'public.unfinished_restore';

/** Prevents services from starting on this database until `markFinished`. */
export const markUnfinished = async (client: Queryable): Promise<void> => {
  await client.query(`CREATE TABLE ${table} ()`);
};

/** Its COMMIT also flushes all earlier writes to disk. */
export const markFinished = async (client: Queryable): Promise<void> => {
  await client.query(`DROP TABLE ${table}`);
};

const isTable = async (client: Queryable, name: string): Promise<boolean> => {
  const { rows } = await client.query<{ found: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS found',
    [name],
  );
  return rows[0]?.found === true;
};

/** @throws RestoreUnfinished */
export const refuseUnfinishedRestore = async (client: Queryable): Promise<void> => {
  if (await isTable(client, table)) throw new RestoreUnfinished();
};

const migrationFiles = (): readonly string[] =>
  readdirSync(migrationFolder)
    .filter((file) => migrationPattern.test(file))
    .sort();

const appliedFiles = async (client: Queryable): Promise<ReadonlySet<string>> => {
  const { rows } = await client.query<{ file: string }>('SELECT file FROM public.migrations');
  return new Set(rows.map(({ file }) => file));
};

const missingFiles = (applied: ReadonlySet<string>): readonly string[] => {
  const missing = migrationFiles().filter((file) => !applied.has(file));
  if (applied.has(firstReplaced)) return missing;
  return [upgradeFile, ...missing.filter((file) => file > lastReplaced)];
};

/** @throws ConfigError for the tables of a build that was never published */
const requirePublished = (applied: ReadonlySet<string>): void => {
  if (applied.has(firstReplaced) || [...applied].sort().at(-1) === lastOfRelease020) return;
  throw new ConfigError(
    'The tables in PostgreSQL are of a build that was never published, and cannot be upgraded: back them ' +
      `up with that build, and restore the backup into a new installation ("${linklogCommand()} restore")`,
  );
};

/** Returns the generation of the tables; 0 if there are none, or if they are of release 0.2.0. */
const readGeneration = async (client: Queryable): Promise<number> => {
  if (!(await isTable(client, 'public.generation'))) return 0;
  const { rows } = await client.query<{ generation: number }>(
    'SELECT generation FROM public.generation',
  );
  return rows[0]?.generation ?? 0;
};

/**
 * Checks that the tables do not have a later generation. Migrations of a later version that did not raise the generation
 * are accepted.
 *
 * @throws DatabaseTooNew
 */
export const requireGeneration = async (client: Queryable): Promise<void> => {
  const found = await readGeneration(client);
  if (found > generation) throw new DatabaseTooNew(found);
};

/** @throws ConfigError, DatabaseTooNew, RestoreUnfinished */
const readMigrationState = async (client: Queryable): Promise<'empty' | 'older' | 'current'> => {
  await requireVersion(client);
  await refuseUnfinishedRestore(client);
  const known = await isTable(client, 'public.migrations');
  const applied = known ? await appliedFiles(client) : new Set<string>();
  await requireGeneration(client);
  if (applied.size === 0) return 'empty';
  requirePublished(applied);
  const isCurrent =
    missingFiles(applied).length === 0 && (await readGeneration(client)) === generation;
  return isCurrent ? 'current' : 'older';
};

/**
 * Checks, without changing anything, that the database has the tables of this version.
 *
 * @throws ConfigError if PostgreSQL is too old, or its tables; DatabaseTooOld, DatabaseTooNew, RestoreUnfinished
 */
export const requireMigrated = async (client: Queryable): Promise<void> => {
  const state = await readMigrationState(client);
  if (state === 'current') return;
  throw new DatabaseTooOld(
    state === 'empty'
      ? 'The database is empty: start the service on it once'
      : 'The database is of an earlier version: start this version of the service on it once',
  );
};

/** How long a step waits for the locks of running processes before it lets them continue (ms), and then pauses. */
const lockTimeoutMs = 2_000;

/** Runs one step in a transaction. It is repeated if running processes hold its locks, or conflict with it. */
const runStep = (
  client: PoolClient,
  progress: Progress,
  step: string,
  run: (tx: Queryable) => Promise<void>,
): Promise<void> =>
  retry(
    () => {
      progress.begin(step);
      return transactionOn(client, async (tx) => {
        // A large table may take minutes.
        await tx.query(
          `SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = ${lockTimeoutMs}`,
        );
        await run(tx);
      });
    },
    {
      pauses: { firstMs: 250, longestMs: 1_000 },
      isRetryable: (error) => hasCode(error, '55P03', '40P01', '40001'),
      onFailure: (error) => {
        progress.waiting(error);
      },
    },
  );

const readSql = (file: string): string => readFileSync(path.join(migrationFolder, file), 'utf8');

const applyFile = async (tx: Queryable, file: string): Promise<void> => {
  await tx.query(readSql(file));
  await tx.query('INSERT INTO public.migrations (file) VALUES ($1)', [file]);
  await tx.query('SELECT public.fence_tables()');
};

const raiseGeneration = async (tx: Queryable): Promise<void> => {
  await tx.query(readSql('generation.sql'));
  await tx.query('UPDATE public.generation SET generation = $1', [generation]);
  await tx.query('SELECT public.fence_tables()');
};

/** Applies all files to an empty database, in one transaction. */
const createTables = async (client: PoolClient, progress: Progress): Promise<void> => {
  await runStep(client, progress, 'tables', async (tx) => {
    await raiseGeneration(tx);
    for (const file of migrationFiles()) await applyFile(tx, file);
  });
};

/**
 * Raises the generation first, so that no process of an earlier generation writes to tables that are migrated in part.
 * Then applies each missing file in its own transaction: an interrupted migration continues with the next one.
 */
const applyMissing = async (client: PoolClient, progress: Progress): Promise<void> => {
  const missing = missingFiles(await appliedFiles(client));
  progress.expect(missing.length + 1);
  await runStep(client, progress, 'generation.sql', raiseGeneration);
  for (const file of missing) {
    await runStep(client, progress, file, (tx) => applyFile(tx, file));
  }
};

/** Runs `work` while no other process migrates. */
const whileLocked = async (
  client: PoolClient,
  onBroken: (error: Error) => void,
  work: () => Promise<void>,
): Promise<void> => {
  await transactionOn(client, async (tx) => {
    await tx.query('SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0');
    // The lock of a session, because each step is a transaction.
    await tx.query('SELECT pg_advisory_lock($1)', [advisoryLocks.migrations]);
  });
  try {
    await work();
  } finally {
    // If this fails, the connection is closed, which releases the lock.
    await client.query('SELECT pg_advisory_unlock($1)', [advisoryLocks.migrations]).catch(onBroken);
  }
};

const applyMigrations = (pool: Pool): Promise<void> =>
  withConnection(pool, (client, onBroken) =>
    whileLocked(client, onBroken, async () => {
      const state = await readMigrationState(client);
      if (state === 'current') return;
      const progress = await reportProgress(pool, client);
      try {
        await (state === 'empty' ? createTables : applyMissing)(client, progress);
        progress.done();
      } finally {
        progress.stop();
      }
    }),
  );

const insufficientPrivilege = '42501';

/**
 * Applies the missing migration files. If none is missing, a user without privileges on the tables suffices. Progress is
 * logged to the logger of the pool.
 *
 * @throws ConfigError if PostgreSQL is too old, or its tables; DatabaseTooOld if the user may not change tables;
 *   DatabaseTooNew, RestoreUnfinished
 */
export const migrate = async (pool: Pool): Promise<void> => {
  try {
    if ((await readMigrationState(pool)) !== 'current') await applyMigrations(pool);
  } catch (error) {
    if (!hasCode(error, insufficientPrivilege)) throw error;
    throw new DatabaseTooOld(
      'The database is not of this version, and the user of DATABASE_URL may not migrate it: run ' +
        '"node dist/ops/tools/migrate.js" with the owner of its tables in DATABASE_URL',
    );
  }
};

/** Grants the services' roles their privileges, if the roles exist. @param pool of the owner of the tables */
export const grantRights = async (pool: Pool): Promise<void> => {
  const { rows } = await pool.query<{ hasRoles: boolean }>(
    `SELECT to_regrole('linklog_api') IS NOT NULL AS "hasRoles"`,
  );
  if (rows[0]?.hasRoles !== true) return;
  await transaction(pool, (tx) => tx.query(readSql('rights.sql')));
};
