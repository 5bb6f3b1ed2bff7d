import { v5 as uuidv5 } from 'uuid';
import { concurrently, untilAborted } from '../../../ops/platform/concurrency/deferred.js';
import type { Batch, EventLog } from '../../../ops/event-log/port.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import { topicNames } from '../../../schemas/events/topics.js';
import { readCheckpoints } from '../../runtime/checkpoints.js';
import { readerLag } from '../../runtime/lag.js';
import { archiveSchema } from '../../runtime/projection.js';
import { readRecord } from '../../runtime/read-record.js';
import { streamOf } from './archiver.js';
import {
  ArchiveCut,
  ArchiveFailure,
  ArchiveForeign,
  type ArchivedEvent,
  type ArchiveStore,
} from './store.js';

/** The stream with an `ArchiveStarted` for each log that wrote to the archive. */
export const ownerStream = 'linklog';

/** The event of a log that starts to write to an archive. A repeat has the same id. */
export const archiveStarted = (log: Pick<EventLog, 'logId'>): ArchivedEvent => {
  const topics = Object.fromEntries(topicNames.map((topic) => [topic, log.logId(topic)]));
  const id = uuidv5(JSON.stringify(topics), uuidv5.URL);
  return { id, type: 'linklog.ArchiveStarted', data: { topics }, metadata: {} };
};

/** How long the archive counts as owned by the log after a check (ms). A server takes longer to be replaced. */
const ownedMs = 2_000;
/** How long the ends of streams count as complete after a check (ms). */
const completeMs = 10_000;

type Handler = (batch: Batch) => Promise<void>;

/** Checks that the archive belongs to the log, and has the events that it had. */
export const createOwner = (deps: {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly store: ArchiveStore;
  /** Aborts the wait for a check. */
  readonly stopped: AbortSignal;
}) => {
  const { pool, log, store, stopped } = deps;

  /**
   * Checks that the archive has the last archived event of each partition. An older copy of the server lacks at least the
   * newest of them.
   *
   * @throws ArchiveCut, ArchiveUnavailable
   */
  const requireComplete = async (): Promise<void> => {
    const checkpoints = await readCheckpoints(pool, archiveSchema);
    await concurrently(checkpoints, { concurrency: 8 }, async (checkpoint) => {
      const { topic, partition, offset, logId } = checkpoint;
      if (logId !== log.logId(topic)) return;
      for await (const { records } of log.read(topic, partition, offset - 1, offset)) {
        const [record] = records;
        const read = record && readRecord(topic, record);
        if (!read || !('event' in read)) return;
        const stream = streamOf(read.event);
        const { rows } = await pool.query<{ next: number }>(
          `SELECT next_revision AS next FROM ${archiveSchema}.streams
           WHERE topic = $1 AND partition = $2 AND stream = $3`,
          [topic, partition, stream],
        );
        const end = await store.probe(stream);
        const last = (rows[0]?.next ?? 0) - 1;
        if (end.type === 'conflict' && end.last < last) throw new ArchiveCut(stream, last);
      }
    });
  };

  /** @throws ArchiveForeign, ArchiveCut, ArchiveUnavailable */
  const requireOwned = async (revision = 0): Promise<void> => {
    const newest = await store.read(ownerStream, 'end', 1);
    // The tombstone of the stream hides whose archive it is.
    if (newest === null) return;
    const [event] = newest;
    if (event) {
      const { topics = {} } = event.data as { readonly topics?: Record<string, string> };
      const isForeign = topicNames.some(
        (topic) => (topics[topic] ?? log.logId(topic)) !== log.logId(topic),
      );
      if (isForeign) throw new ArchiveForeign(ownerStream, event.revision);
      return;
    }
    // The server is empty, or an earlier version of Linklog started its archive, or the event was removed.
    await requireComplete();
    const outcome = await store.append(ownerStream, revision, [archiveStarted(log)]);
    if (outcome.type === 'conflict') await requireOwned(outcome.last + 1);
  };

  let [ownedAt, completeAt] = [-Infinity, -Infinity];
  /** The failures of partitions whose last batch was not archived, the latest one last. */
  const failures = new Map<string, ArchiveFailure>();
  /** The event of another log that was found last. */
  let foreign: ArchiveForeign | null = null;

  /** @throws ArchiveForeign, ArchiveCut, ArchiveUnavailable */
  const requireWritable = async (): Promise<void> => {
    if (foreign) {
      const [event] = (await store.read(foreign.stream, foreign.revision, 1)) ?? [];
      if (event?.id === foreign.id) throw foreign;
      foreign = null;
    }
    if (performance.now() - ownedAt <= ownedMs) return;
    await requireOwned();
    ownedAt = performance.now();
  };

  return {
    /** Wraps a handler of batches, so that nothing is written to an archive of another log. */
    guard:
      (archive: Handler): Handler =>
      async (batch) => {
        const name = `${batch.topic}/${batch.partition}`;
        try {
          await untilAborted(requireWritable(), stopped);
          await archive(batch);
          failures.delete(name);
        } catch (error) {
          failures.delete(name);
          if (error instanceof ArchiveFailure) failures.set(name, error);
          if (error instanceof ArchiveForeign && error.id) foreign = error;
          throw error;
        }
      },
    /** @throws the last failure while events are due; otherwise that of calls which change nothing */
    async check(): Promise<void> {
      const failure = [...failures.values()].at(-1);
      // Another archiver may have copied the batch.
      if (failure && (await readerLag(pool, log, archiveSchema, topicNames)).lag > 0) {
        throw failure;
      }
      await store.probe(ownerStream);
      await requireWritable();
      if (performance.now() - completeAt <= completeMs) return;
      await requireComplete();
      completeAt = performance.now();
    },
  };
};
