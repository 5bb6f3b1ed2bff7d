import type { Queryable } from '../platform/postgres/pool.js';

/** The name of the log of a database that keeps its log itself. */
export const embeddedLog = 'postgres';

/** The database's events belong to another log than the configured one. */
export class ForeignLog extends Error {
  readonly code = 'FOREIGN_LOG';

  constructor(known: string, logName: string) {
    super(
      `The database belongs to the log ${known}, the configured one is ${logName}: to move to another ` +
        'log, `linklog backup` and `linklog restore` into an empty installation',
    );
  }
}

/** The log that the database's events belong to; `null`: none yet. */
const boundLog = async (client: Queryable): Promise<string | null> => {
  const { rows } = await client.query<{ name: string | null }>(
    'SELECT log_name AS name FROM log.identity',
  );
  return rows[0]?.name ?? null;
};

/**
 * Binds the database's events to this log for good, unless they are bound already.
 *
 * @throws ForeignLog
 */
export const bindToLog = async (client: Queryable, logName: string): Promise<void> => {
  // A bound database need not be writable.
  if (await isBoundTo(client, logName)) return;
  await client.query('UPDATE log.identity SET log_name = $1 WHERE log_name IS NULL', [logName]);
  await requireBoundTo(client, logName);
};

/**
 * Whether the database's events belong to this log; `false` where they belong to none yet.
 *
 * @throws ForeignLog
 */
export const isBoundTo = async (client: Queryable, logName: string): Promise<boolean> => {
  const bound = await boundLog(client);
  if (bound !== null && bound !== logName) throw new ForeignLog(bound, logName);
  return bound !== null;
};

/**
 * Refuses a database whose events belong to another log. Binds nothing.
 *
 * @throws ForeignLog
 */
export const requireBoundTo = async (client: Queryable, logName: string): Promise<void> => {
  await isBoundTo(client, logName);
};

/**
 * Refuses a database that keeps its events itself, before a cluster can be asked for its name.
 *
 * @throws ForeignLog
 */
export const requireNotEmbedded = async (client: Queryable, logName: string): Promise<void> => {
  if ((await boundLog(client)) === embeddedLog) throw new ForeignLog(embeddedLog, logName);
};

/** The installation's id: a restart and a restored database keep it. */
export const installationOf = async (client: Queryable): Promise<string> => {
  const { rows } = await client.query<{ id: string }>('SELECT id FROM log.identity');
  const id = rows[0]?.id;
  if (id === undefined) throw new Error('The log has no identity');
  return id;
};
