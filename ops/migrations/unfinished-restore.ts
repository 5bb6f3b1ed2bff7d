import type { Queryable } from '../platform/postgres/pool.js';

/** A restore into this database was begun and never ended: what it holds is a part of something. */
export class RestoreUnfinished extends Error {
  readonly code = 'RESTORE_UNFINISHED';
  readonly retryable = false;

  constructor() {
    super(
      'A restore into this installation was broken off, so it holds a part of the backup only: ' +
        'empty it (embedded: remove "postgres" in DATA_DIR; else make the database, and the ' +
        'topics on Kafka, anew), and restore again',
    );
  }
}

// A table of its own, and of no migration: it is there while a restore runs, and only then.
const mark = 'public.unfinished_restore';

/** Keeps everybody from starting on this database until `markFinished`. */
export const markUnfinished = async (client: Queryable): Promise<void> => {
  await client.query(`CREATE TABLE ${mark} ()`);
};

/** When this has committed, all that was written before it is on the disk, too. */
export const markFinished = async (client: Queryable): Promise<void> => {
  await client.query(`DROP TABLE ${mark}`);
};

/** @throws RestoreUnfinished */
export const refuseUnfinishedRestore = async (client: Queryable): Promise<void> => {
  const { rows } = await client.query<{ found: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS found',
    [mark],
  );
  if (rows[0]?.found === true) throw new RestoreUnfinished();
};
