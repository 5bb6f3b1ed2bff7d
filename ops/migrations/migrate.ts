import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { hasCode } from '../platform/errors.js';
import { projectFile } from '../platform/files/project-file.js';
import { advisoryLocks } from '../advisory-locks.js';
import { requireVersion } from '../platform/postgres/connection-fault.js';
import { transaction, type Pool, type Queryable } from '../platform/postgres/pool.js';

const migrationPattern = /^(\d{4})_.+\.sql$/;

/** A later version of Linklog has migrated the database. */
export class DatabaseTooNew extends Error {
  readonly code = 'DATABASE_TOO_NEW';
}

/** The database is not migrated to this version yet. */
export class DatabaseTooOld extends Error {
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

/** @throws RestoreUnfinished */
export const refuseUnfinishedRestore = async (client: Queryable): Promise<void> => {
  const { rows } = await client.query<{ found: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS found',
    [table],
  );
  if (rows[0]?.found === true) throw new RestoreUnfinished();
};

const migrationFolder = projectFile('ops/migrations');

const migrationFiles = (): readonly string[] =>
  readdirSync(migrationFolder)
    .filter((file) => migrationPattern.test(file))
    .sort();

const appliedFiles = async (client: Queryable): Promise<ReadonlySet<string>> => {
  const { rows } = await client.query<{ file: string }>('SELECT file FROM public.migrations');
  return new Set(rows.map(({ file }) => file));
};

const refuseUnknown = (applied: ReadonlySet<string>, files: readonly string[]): void => {
  const unknown = [...applied].find((file) => !files.includes(file));
  if (unknown === undefined) return;
  throw new DatabaseTooNew(
    `The database contains migration ${unknown}, which this version does not know: ` +
      'start the version that created it, or a later one',
  );
};

type MigrationState = 'empty' | 'older' | 'current';

/** @throws ConfigError, DatabaseTooNew, RestoreUnfinished */
const readMigrationState = async (client: Queryable): Promise<MigrationState> => {
  await requireVersion(client);
  await refuseUnfinishedRestore(client);
  const { rows } = await client.query<{ known: boolean }>(
    "SELECT to_regclass('public.migrations') IS NOT NULL AS known",
  );
  const applied = rows[0]?.known === true ? await appliedFiles(client) : new Set<string>();
  const files = migrationFiles();
  refuseUnknown(applied, files);
  if (files.every((file) => applied.has(file))) return 'current';
  return applied.size === 0 ? 'empty' : 'older';
};

/**
 * Checks, without changing anything, that the database has the tables of this version.
 *
 * @throws ConfigError if PostgreSQL is too old; DatabaseTooOld, DatabaseTooNew, RestoreUnfinished
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

const applyMigrations = async (pool: Pool): Promise<void> => {
  const files = migrationFiles();
  await transaction(pool, async (tx) => {
    // A large table may take minutes; other processes wait for the lock meanwhile.
    await tx.query('SET LOCAL statement_timeout = 0');
    await tx.query('SELECT pg_advisory_xact_lock($1)', [advisoryLocks.migrations]);
    await tx.query(`CREATE TABLE IF NOT EXISTS public.migrations (
      file text PRIMARY KEY,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`);
    const applied = await appliedFiles(tx);
    refuseUnknown(applied, files);
    await refuseUnfinishedRestore(tx);
    for (const file of files.filter((name) => !applied.has(name))) {
      await tx.query(readFileSync(path.join(migrationFolder, file), 'utf8'));
      await tx.query('INSERT INTO public.migrations (file) VALUES ($1)', [file]);
    }
  });
};

const insufficientPrivilege = '42501';

/**
 * Applies the missing migration files in one transaction. If none is missing, a user without privileges on the tables
 * suffices.
 *
 * @throws ConfigError if PostgreSQL is too old; DatabaseTooOld if the user may not change tables; DatabaseTooNew,
 *   RestoreUnfinished
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
