import type { OnRecorded } from '../../platform/outbox/outbox-metrics.js';
import type { Logger } from '../../platform/logging.js';
import { openPostgresLog, type PostgresLog } from '../../platform/event-log/postgres-log.js';
import { listenToPostgres } from '../../platform/postgres/listener.js';
import type { Pool } from '../../platform/postgres/pool.js';

/** The embedded log, with a listener of its own that its `close` ends. */
export const openTestLog = async (options: {
  readonly pool: Pool;
  /** The pool's. */
  readonly url: string;
  readonly logger: Logger;
  readonly onRecorded?: OnRecorded;
}): Promise<PostgresLog> => {
  const listener = listenToPostgres(options.url, ['linklog_log'], options.logger);
  try {
    const { log, outbox } = await openPostgresLog({ ...options, listener });
    return { log: { ...log, close: () => listener.close() }, outbox };
  } catch (error) {
    await listener.close();
    throw error;
  }
};
