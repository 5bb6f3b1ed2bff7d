import type { EventLog } from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { topicNames } from '../../schemas/events/topics.js';
import { readCheckpoint } from '../runtime/checkpoints.js';
import { archiveSchema } from '../runtime/names.js';
import { readerLag, type ReaderLag } from '../runtime/status.js';
import { createArchiver } from './batch.js';
import { ArchiveCut } from './errors.js';
import type { ArchiveStore } from './store.js';

export interface Archive {
  /** Never resolves; rejects with what no retry can mend: a checkpoint of another log. */
  readonly failed: Promise<never>;
  /** How far the archive is behind the log, and what has no place in it. */
  status(): Promise<ReaderLag>;
  /** Rejects while EventStoreDB cannot be used, or has lost events that it had. */
  check(): Promise<void>;
  /** Resolves when no batch is being archived and none will be. */
  stop(): Promise<void>;
}

/** Copies every event of the log into EventStoreDB, for as long as that takes it. */
export const startArchive = (options: {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly store: ArchiveStore;
  readonly logger: Logger;
}): Archive => {
  const { pool, log, store } = options;
  const stopping = new AbortController();
  const archive = createArchiver({ ...options, stopped: stopping.signal });
  /** By partition, that EventStoreDB has lost what its batch goes on from. */
  const cuts = new Map<string, ArchiveCut>();
  const subscription = log.subscribe({
    group: 'archive',
    topics: topicNames,
    position: (topic, partition) => readCheckpoint(pool, archiveSchema, topic, partition),
    async handle(batch) {
      const place = `${batch.topic}/${batch.partition}`;
      try {
        await archive(batch);
        cuts.delete(place);
      } catch (error) {
        if (error instanceof ArchiveCut) cuts.set(place, error);
        throw error;
      }
    },
  });
  const failed = subscription.done.then(() => new Promise<never>(() => undefined));
  // The subscription has logged it. Who does not listen learns of it by the lag.
  failed.catch(() => undefined);

  return {
    failed,
    status: () => readerLag(pool, log, archiveSchema, topicNames),
    async check() {
      const [cut] = cuts.values();
      if (cut) throw cut;
      await store.ping();
    },
    async stop() {
      stopping.abort(new Error('the archive is being stopped'));
      await subscription.stop();
      await store.close();
    },
  };
};
