import type { Queryable } from '../postgres/pool.js';

/** Where the events of a database belong that keeps its log itself. */
export const postgresHome = 'postgres';

/** The database's events belong to another log than the configured one. */
export class ForeignHome extends Error {
  readonly code = 'FOREIGN_HOME';
  readonly retryable = false;

  constructor(known: string, home: string) {
    super(
      `The database belongs to the log ${known}, the configured one is ${home}: to move to another ` +
        'log, `linklog backup` and `linklog restore` into an empty installation',
    );
  }
}

/**
 * Sees that the database's events belong to this log; the first one that asks has them for good.
 *
 * @throws ForeignHome
 */
export const bindToLog = async (client: Queryable, home: string): Promise<void> => {
  await client.query('UPDATE log.identity SET home = $1 WHERE home IS NULL', [home]);
  const { rows } = await client.query<{ home: string }>('SELECT home FROM log.identity');
  const known = rows[0]?.home;
  if (known !== home) throw new ForeignHome(known ?? 'nowhere', home);
};

/**
 * Sees that the database's events do not belong to another log, and binds nothing.
 *
 * @throws ForeignHome
 */
export const requireHome = async (client: Queryable, home: string): Promise<void> => {
  const { rows } = await client.query<{ home: string | null }>('SELECT home FROM log.identity');
  const known = rows[0]?.home ?? home;
  if (known !== home) throw new ForeignHome(known, home);
};

/**
 * Sees that the events do not belong to the database itself, before a cluster can be asked for its
 * name.
 *
 * @throws ForeignHome
 */
export const requireNotAtHome = async (client: Queryable, home: string): Promise<void> => {
  const { rows } = await client.query<{ home: string | null }>('SELECT home FROM log.identity');
  if (rows[0]?.home === postgresHome) throw new ForeignHome(postgresHome, home);
};

/** What tells an installation from any other; a restart and a restored database keep it. */
export const installationOf = async (client: Queryable): Promise<string> => {
  const { rows } = await client.query<{ id: string }>('SELECT id FROM log.identity');
  const id = rows[0]?.id;
  if (id === undefined) throw new Error('The log has no identity');
  return id;
};
