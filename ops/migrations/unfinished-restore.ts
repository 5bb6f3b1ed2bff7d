import type { Queryable } from '../platform/postgres/pool.js';

/** A restore into this database began and did not end: the database holds a part of the backup. */
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

// No migration makes this table: it exists while a restore runs, and only then.
const table = 'public.unfinished_restore';

/** Until `markFinished`, no service starts on this database. */
export const markUnfinished = async (client: Queryable): Promise<void> => {
  await client.query(`CREATE TABLE ${table} ()`);
};

/** When this has committed, everything written before is on the disk, too. */
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
