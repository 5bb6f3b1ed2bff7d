import { firstFailure } from '../../../ops/platform/concurrency/deferred.js';
import { ConfigError } from '../../../ops/platform/errors.js';
import type { EventLog } from '../../../ops/event-log/port.js';
import { createOutageLog, type Logger } from '../../../ops/platform/logging.js';
import type { Gauges, Sample } from '../../../ops/platform/metrics/figure.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import { topicNames } from '../../../schemas/events/topics.js';
import { readCheckpoint } from '../../runtime/checkpoints.js';
import { readerLag } from '../../runtime/lag.js';
import { archiveSchema } from '../../runtime/projection.js';
import { createArchiver, removedEvents } from './archiver.js';
import { createOwner } from './owner.js';
import { openArchiveStore, type ArchiveStore } from './store.js';

interface ArchiveDeps {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
}

export const startArchive = (deps: ArchiveDeps & { readonly store: ArchiveStore }) => {
  const { pool, log, logger, store } = deps;
  const stopping = new AbortController();
  const parts = { ...deps, stopped: stopping.signal };
  const owner = createOwner(parts);
  const archive = owner.guard(createArchiver(parts));
  const status = async () => ({
    ...(await readerLag(pool, log, archiveSchema, topicNames)),
    removed: await removedEvents(pool),
  });
  /** Records that were archived since the outage began. */
  let archived = 0;
  const outage = createOutageLog(
    logger,
    'the archive is unavailable; trying again',
    async (ended) => {
      // PostgreSQL or the log may be unavailable.
      const { lag } = await status().catch(() => ({ lag: 0 }));
      logger.info({ ...ended, events: archived + lag }, 'the archive is available again');
      archived = 0;
    },
  );
  const subscription = log.subscribe({
    group: archiveSchema,
    topics: topicNames,
    outage,
    position: (topic, partition) => readCheckpoint(pool, archiveSchema, topic, partition),
    async handle(batch) {
      await archive({ ...batch, records: batch.records.slice() });
      if (outage.isOngoing()) archived += batch.records.length;
    },
  });
  return {
    /** Never resolves. Rejects with an error that a retry cannot fix: a checkpoint of another log. */
    failed: firstFailure([subscription.done]),
    status,
    /** Rejects while EventStoreDB is unavailable, has lost events or belongs to another log. */
    async check(): Promise<void> {
      try {
        await owner.check();
        outage.recovered('check');
      } catch (error) {
        outage.failed(error, 'check');
        throw error;
      }
    },
    async stop(): Promise<void> {
      stopping.abort(new Error('the archive is being stopped'));
      await subscription.stop();
      await store.close();
    },
  };
};

export type Archive = ReturnType<typeof startArchive>;

type Status = Awaited<ReturnType<Archive['status']>>;

const gauges: readonly (readonly [name: string, help: string, field: keyof Status])[] = [
  ['linklog_archive_lag_events', 'Events of the log that are not in the archive yet', 'lag'],
  ['linklog_archive_dead_letters', 'Events that the archive rejects', 'deadLetters'],
  ['linklog_archive_parked_events', 'Events parked after a dead letter of their subject', 'parked'],
  ['linklog_archive_removed_events', 'Events that retention or a deletion removed', 'removed'],
];

/** @throws ConfigError */
export const openStore = (url: string): ArchiveStore => {
  try {
    return openArchiveStore(url);
  } catch (cause) {
    // For example a missing certificate file. The message quotes at most one character of the connection string.
    throw new ConfigError(`EVENTSTORE_URL: ${(cause as Error).message}`, { cause });
  }
};

/**
 * Starts the archive and exposes its metrics.
 *
 * @throws ConfigError
 */
export const openArchive = (
  deps: ArchiveDeps & { readonly url: string; readonly metrics: Gauges },
): Archive => {
  const store = openStore(deps.url);
  const archive = startArchive({ ...deps, store });
  for (const [name, help, field] of gauges) {
    const read = (): Promise<readonly Sample[]> =>
      archive.status().then(
        (lag) => [[{}, lag[field]]],
        // No sample while PostgreSQL or the log is unavailable; `linklog_dependency_up` has the cause.
        () => [],
      );
    deps.metrics.gauge({ name, help, shared: true, read });
  }
  return archive;
};
