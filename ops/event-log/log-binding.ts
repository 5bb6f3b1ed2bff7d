import { linklogCommand } from '../platform/process/own-command.js';
import type { Queryable } from '../platform/postgres/pool.js';

/** The name of an embedded log. */
export const embeddedLog = 'postgres';

/** Without the separator of an empty KAFKA_TOPIC_PREFIX. */
const printedName = (logName: string): string => logName.replace(/:$/, '');

/** The database is bound to another log than the configured one. */
export class ForeignLog extends Error {
  readonly code = 'FOREIGN_LOG';

  constructor(known: string, logName: string) {
    super(
      `The database belongs to the log ${printedName(known)}, the configured one is ${printedName(logName)}: to move to another ` +
        `log, "${linklogCommand()} backup" and "${linklogCommand()} restore" into an empty installation`,
    );
  }
}

/** Returns the log that the database is bound to; `null` if it is not bound yet. */
const boundLog = async (client: Queryable): Promise<string | null> => {
  const { rows } = await client.query<{ name: string | null }>(
    'SELECT log_name AS name FROM log.identity',
  );
  return rows[0]?.name ?? null;
};

/** Binds the database to a log permanently. @throws ForeignLog */
export const bindToLog = async (client: Queryable, logName: string): Promise<void> => {
  // Checked first, because a bound database may be read-only.
  if (await isBoundTo(client, logName)) return;
  await client.query('UPDATE log.identity SET log_name = $1 WHERE log_name IS NULL', [logName]);
  await requireBoundTo(client, logName);
};

/** Returns whether the database is bound to this log; `false` if it is not bound yet. @throws ForeignLog */
export const isBoundTo = async (client: Queryable, logName: string): Promise<boolean> => {
  const bound = await boundLog(client);
  if (bound !== null && bound !== logName) throw new ForeignLog(bound, logName);
  return bound !== null;
};

/** Checks that the database is not bound to another log. @throws ForeignLog */
export const requireBoundTo = async (client: Queryable, logName: string): Promise<void> => {
  await isBoundTo(client, logName);
};

/** Checks that the log is not embedded, before the name of a cluster is known. @throws ForeignLog */
export const requireNotEmbedded = async (client: Queryable, logName: string): Promise<void> => {
  if ((await boundLog(client)) === embeddedLog) throw new ForeignLog(embeddedLog, logName);
};

/** Returns the id of the installation, which a restored database keeps. */
export const installationOf = async (client: Queryable): Promise<string> => {
  const { rows } = await client.query<{ id: string }>('SELECT id FROM log.identity');
  const id = rows[0]?.id;
  if (id === undefined) throw new Error('The log has no identity');
  return id;
};
