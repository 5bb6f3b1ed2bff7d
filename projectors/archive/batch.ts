import type { Batch, EventLog } from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { DeadLetter } from '../runtime/dead-letters.js';
import { readRecord, type ReadableRecord } from '../runtime/readings.js';
import { archiveStream } from './append.js';
import { archivedEvent, streamOf } from './archived-event.js';
import { readProgress, writeProgress, type Due } from './progress.js';
import type { ArchiveStore } from './store.js';

/** Appends at once: the server, and HTTP/2 to it, take some hundred. */
const concurrency = 32;

/** What is to be appended to each stream, and what cannot be. */
const sortOut = ({
  readings,
  blocked,
}: Due): { readonly byStream: Map<string, ReadableRecord[]>; readonly letters: DeadLetter[] } => {
  const byStream = new Map<string, ReadableRecord[]>();
  const letters: DeadLetter[] = [];
  for (const reading of readings) {
    if ('error' in reading) {
      letters.push({ reading, error: reading.error.message });
      blocked.add(reading.subject);
    } else if (blocked.has(reading.subject)) {
      letters.push({ reading, error: null });
    } else {
      const stream = streamOf(reading.event);
      const events = byStream.get(stream);
      if (events) events.push(reading);
      else byStream.set(stream, [reading]);
    }
  }
  return { byStream, letters };
};

/**
 * A handler of batches that copies them to the archive: every event once, in order. Where a stream's
 * events belong follows from the log alone (see `progress.ts`), so a batch may be handled again after a
 * crash, and by two at once. What no archive takes becomes a dead letter, and later events of its
 * subject are parked behind it.
 */
export const createArchiver = (options: {
  readonly pool: Pool;
  readonly log: Pick<EventLog, 'logId'>;
  readonly store: Pick<ArchiveStore, 'append' | 'ids'>;
  readonly logger: Logger;
  /** Ends a batch at once; it is archived by whoever comes next. */
  readonly stopped: AbortSignal;
}): ((batch: Batch) => Promise<void>) => {
  const { pool, log, store, logger, stopped } = options;
  const aborted = new Promise<never>((_, reject) => {
    stopped.addEventListener('abort', () => {
      reject(stopped.reason as Error);
    });
  });
  aborted.catch(() => undefined); // Raced against below.

  /** Archives streams, several at a time; fails when what is in flight has settled. */
  const archiveAll = async (
    byStream: ReadonlyMap<string, readonly ReadableRecord[]>,
    due: Due,
    letters: DeadLetter[],
  ): Promise<Map<string, number>> => {
    const revisions = new Map<string, number>();
    const waiting = byStream.entries();
    let failed = false;
    const work = async (): Promise<void> => {
      for (const [stream, readings] of waiting) {
        if (failed || stopped.aborted) return;
        const first = due.revisions.get(stream) ?? 0;
        const events = readings.map(({ event }) => archivedEvent(event));
        try {
          const { archived, refused } = await archiveStream(store, stream, first, events);
          revisions.set(stream, first + archived);
          readings.slice(archived).forEach((reading, index) => {
            letters.push({ reading, error: index === 0 ? (refused?.message ?? null) : null });
          });
        } catch (error) {
          failed = true;
          throw error;
        }
      }
    };
    const ends = await Promise.allSettled(Array.from({ length: concurrency }, work));
    const failure = ends.find((end) => end.status === 'rejected');
    if (failure) throw failure.reason;
    stopped.throwIfAborted();
    return revisions;
  };

  return async (batch) => {
    const { topic, partition } = batch;
    const logId = log.logId(topic);
    const due = await readProgress(
      pool,
      batch,
      logId,
      batch.records.map((record) => readRecord(topic, record)),
    );
    const { byStream, letters } = sortOut(due);
    const revisions = await Promise.race([archiveAll(byStream, due, letters), aborted]);
    await writeProgress(pool, batch, logId, { raised: due.raised, revisions, letters });
    if (letters.length === 0) return;
    const offsets = letters.slice(0, 10).map(({ reading }) => reading.record.offset);
    logger.error(
      { topic, partition, letters: letters.length, offsets },
      'records were set aside: the archive has no place for them',
    );
  };
};
