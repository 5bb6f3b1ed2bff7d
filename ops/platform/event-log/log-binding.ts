import type { Queryable } from '../postgres/pool.js';

/** Where the events of a database belong that keeps its log itself. */
export const embeddedLog = 'postgres';

/** The database's events belong to another log than the configured one. */
export class ForeignLog extends Error {
  readonly code = 'FOREIGN_LOG';
  readonly retryable = false;

  constructor(known: string, logName: string) {
    super(
      `The database belongs to the log ${known}, the configured one is ${logName}: to move to another ` +
        'log, `linklog backup` and `linklog restore` into an empty installation',
    );
  }
}

/**
 * Sees that the database's events belong to this log; the first one that asks has them for good.
 *
 * @throws ForeignLog
 */
export const bindToLog = async (client: Queryable, logName: string): Promise<void> => {
  await client.query('UPDATE log.identity SET logName = $1 WHERE logName IS NULL', [logName]);
  const { rows } = await client.query<{ logName: string }>('SELECT logName FROM log.identity');
  const known = rows[0]?.logName;
  if (known !== logName) throw new ForeignLog(known ?? 'nowhere', logName);
};

/**
 * Sees that the database's events do not belong to another log, and binds nothing.
 *
 * @throws ForeignLog
 */
export const requireBoundTo = async (client: Queryable, logName: string): Promise<void> => {
  const { rows } = await client.query<{ logName: string | null }>(
    'SELECT logName FROM log.identity',
  );
  const known = rows[0]?.logName ?? logName;
  if (known !== logName) throw new ForeignLog(known, logName);
};

/**
 * Sees that the events do not belong to the database itself, before a cluster can be asked for its
 * name.
 *
 * @throws ForeignLog
 */
export const requireNotEmbedded = async (client: Queryable, logName: string): Promise<void> => {
  const { rows } = await client.query<{ logName: string | null }>(
    'SELECT logName FROM log.identity',
  );
  if (rows[0]?.logName === embeddedLog) throw new ForeignLog(embeddedLog, logName);
};

/** What tells an installation from any other; a restart and a restored database keep it. */
export const installationOf = async (client: Queryable): Promise<string> => {
  const { rows } = await client.query<{ id: string }>('SELECT id FROM log.identity');
  const id = rows[0]?.id;
  if (id === undefined) throw new Error('The log has no identity');
  return id;
};
