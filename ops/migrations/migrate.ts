import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectFile } from '../platform/project-file.js';
import { transaction, type Pool } from '../platform/postgres/pool.js';

const migrationPattern = /^(\d{4})_.+\.sql$/;
/** Any constant that nobody else uses: starters of several processes take turns. */
const migrationLock = 7_021_955;

/** The database was migrated by a later version of Linklog than this one. */
export class DatabaseTooNew extends Error {
  readonly code = 'DATABASE_TOO_NEW';
  readonly retryable = false;
}

/**
 * Brings the database's tables up to this version: each numbered file once, all in one transaction.
 *
 * @throws DatabaseTooNew
 */
export const migrate = async (pool: Pool): Promise<void> => {
  const folder = projectFile('ops/migrations');
  const files = readdirSync(folder)
    .filter((file) => migrationPattern.test(file))
    .sort();
  await transaction(pool, async (tx) => {
    // The pool's limit is for the service's statements: a large table may take minutes, and another
    // starter as long to wait for it.
    await tx.query('SET LOCAL statement_timeout = 0');
    await tx.query('SELECT pg_advisory_xact_lock($1)', [migrationLock]);
    await tx.query(`CREATE TABLE IF NOT EXISTS public.migrations (
      file text PRIMARY KEY,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`);
    const { rows } = await tx.query<{ file: string }>('SELECT file FROM public.migrations');
    const applied = new Set(rows.map(({ file }) => file));
    const unknown = [...applied].find((file) => !files.includes(file));
    if (unknown !== undefined) {
      throw new DatabaseTooNew(
        `The database holds migration ${unknown}, which this version does not know: ` +
          'start the version that made it, or a later one',
      );
    }
    for (const file of files.filter((name) => !applied.has(name))) {
      await tx.query(readFileSync(path.join(folder, file), 'utf8'));
      await tx.query('INSERT INTO public.migrations (file) VALUES ($1)', [file]);
    }
  });
};
