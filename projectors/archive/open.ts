import { ConfigError } from '../../ops/platform/config/config.js';
import type { EventLog } from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Metrics } from '../../ops/platform/metrics/metrics.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Archive } from './start.js';

/**
 * Starts the archive in the EventStoreDB of a connection string, and tells of it. Its client takes
 * half a second to load, so it is loaded here and by nobody else.
 *
 * @throws ConfigError
 */
export const openArchive = async (options: {
  readonly url: string;
  readonly pool: Pool;
  readonly log: EventLog;
  readonly metrics: Metrics;
  readonly logger: Logger;
}): Promise<Archive> => {
  const { url, pool, log, metrics, logger } = options;
  const [{ openArchiveStore }, { startArchive }, { exposeArchive }] = await Promise.all([
    import('./store.js'),
    import('./start.js'),
    import('./metrics.js'),
  ]);
  let store;
  try {
    store = openArchiveStore(url);
  } catch (cause) {
    // Such as a file that is not there. It quotes at most one character of the string.
    throw new ConfigError(`EVENTSTORE_URL: ${(cause as Error).message}`, { cause });
  }
  const archive = startArchive({ pool, log, store, logger });
  exposeArchive(metrics, () => archive.status());
  return archive;
};
