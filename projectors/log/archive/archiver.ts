import { validate as isUuid, v5 as uuidv5 } from 'uuid';
import { concurrently, untilAborted } from '../../../ops/platform/concurrency/deferred.js';
import type { Batch, EventLog } from '../../../ops/event-log/port.js';
import { groupBy } from '../../../ops/platform/collections.js';
import type { Logger } from '../../../ops/platform/logging.js';
import { transaction, type Pool } from '../../../ops/platform/postgres/pool.js';
import {
  isAliasOverrideEvent,
  isApiKeyEvent,
  isDomainEvent,
  isLinkEvent,
  isVisit,
  isPlatformEvent,
  isUsageEvent,
  isWebhookEvent,
  type LinklogEvent,
} from '../../../schemas/events/catalogue.js';
import { withoutSecrets } from '../../../schemas/events/redact.js';
import { saveProgress, type ReadLog } from '../../runtime/batch.js';
import { requireAtCheckpoint } from '../../runtime/checkpoints.js';
import { Deduplicator } from '../../runtime/deduplicator.js';
import type { HighWaterMarks } from '../../runtime/high-water-marks.js';
import { insertDeadLetters, offsetsOf, type DeadLetter } from '../../runtime/dead-letters.js';
import { archiveSchema } from '../../runtime/projection.js';
import type { ReadableRecord } from '../../runtime/read-record.js';
import {
  AppendTooLarge,
  ArchiveCut,
  StreamRefused,
  WrongRevision,
  type ArchivedEvent,
  type ArchiveStore,
} from './store.js';

/** The server and its HTTP/2 connection accept about a hundred. */
const concurrentAppends = 32;

/** The server's default limit is 1 MiB. */
const maxAppendBytes = 1_000_000;

/** Returns the stream of an event. `$by_category` groups streams by the part before the first hyphen. */
export const streamOf = (event: LinklogEvent): string => {
  const { subject } = event;
  if (isLinkEvent(event)) return `link-${subject}`;
  if (isVisit(event)) return `visits-${subject}`;
  if (isApiKeyEvent(event)) return `key-${subject}`;
  if (isAliasOverrideEvent(event)) return `alias-${subject}`;
  if (isDomainEvent(event)) return `domain-${subject}`;
  if (isWebhookEvent(event)) return `webhook-${subject}`;
  if (isUsageEvent(event)) return `usage-${subject}`;
  if (isPlatformEvent(event)) return 'platform';
  const unknown: never = event;
  return unknown;
};

/** Returns an event's id in the archive, which accepts only UUIDs: a spooled visit gets a UUIDv5. */
export const archiveIdOf = ({ id, source }: Pick<LinklogEvent, 'id' | 'source'>): string =>
  isUuid(id) ? id : uuidv5(`${source}#${id}`, uuidv5.URL);

/** Removes secrets; attributes besides id, type and data become metadata. */
const archivedEvent = (event: LinklogEvent): ArchivedEvent => {
  const archived = { ...(withoutSecrets(event) as LinklogEvent), id: archiveIdOf(event) };
  const { id, type, data, ...attributes } = archived;
  const metadata = {
    ...attributes,
    // The names that EventStoreDB's own projections and UI use.
    ...(event.correlationid !== undefined && { $correlationId: event.correlationid }),
    ...(event.causationid !== undefined && { $causationId: event.causationid }),
  };
  const bytes = Buffer.byteLength(JSON.stringify(data) + JSON.stringify(metadata));
  return { id, type, data, metadata, size: bytes + type.length * 2 };
};

type Appendable = Pick<ArchiveStore, 'append' | 'ids'>;

/**
 * Reads a batch without repeats, the subjects with dead letters, and the next revision of each stream in one snapshot,
 * because events would get wrong revisions otherwise.
 *
 * @throws BatchNotAtCheckpoint, UnknownEventType
 */
const readDue = (pool: Pool, batch: Batch, log: ReadLog) =>
  transaction(pool, async (tx) => {
    await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const { topic, partition } = batch;
    await requireAtCheckpoint(tx, archiveSchema, batch, log.logId(topic));
    const reader = new Deduplicator(tx, archiveSchema, log, batch);
    const fresh = await reader.read(batch.records);
    const { raised: marks, blocked } = reader;
    const streams = fresh.flatMap((record) => ('event' in record ? [streamOf(record.event)] : []));
    const { rows } = await tx.query<{ stream: string; next: number }>(
      `SELECT stream, next_revision AS next FROM ${archiveSchema}.streams
       WHERE topic = $1 AND partition = $2 AND stream = ANY ($3::text[])`,
      [topic, partition, [...new Set(streams)]],
    );
    const revisions = new Map(rows.map(({ stream, next }) => [stream, next]));
    return { fresh, marks, blocked, revisions };
  });

/** Saves that a batch is archived. @throws BatchNotAtCheckpoint if another archiver has saved it meanwhile */
const saveArchived = (
  pool: Pool,
  batch: Batch,
  log: Pick<EventLog, 'logId'>,
  done: {
    readonly marks: HighWaterMarks;
    readonly revisions: ReadonlyMap<string, number>;
    readonly deadLetters: readonly DeadLetter[];
  },
): Promise<void> =>
  transaction(pool, async (tx) => {
    // A crash of PostgreSQL may undo the last transactions; their batches are archived again.
    await tx.query('SET LOCAL synchronous_commit = off');
    await requireAtCheckpoint(tx, archiveSchema, batch, log.logId(batch.topic), 'FOR UPDATE');
    await tx.query(
      `INSERT INTO ${archiveSchema}.streams (topic, partition, stream, next_revision)
       SELECT $1, $2, * FROM unnest($3::text[], $4::bigint[])
       ON CONFLICT (topic, partition, stream) DO UPDATE SET next_revision = excluded.next_revision`,
      [batch.topic, batch.partition, [...done.revisions.keys()], [...done.revisions.values()]],
    );
    await Promise.all([
      insertDeadLetters(tx, archiveSchema, batch, done.deadLetters),
      saveProgress(tx, archiveSchema, batch, done.marks, log),
    ]);
  });

const portionOf = (events: readonly ArchivedEvent[], bytes: number): readonly ArchivedEvent[] => {
  let total = 0;
  const end = events.findIndex(({ size }, index) => (total += size) > bytes && index > 0);
  return end === -1 ? events : events.slice(0, end);
};

/**
 * Archives events of one stream from revision `first` on; events that are already there are skipped. The revision of an
 * event depends on the log alone, so events are neither duplicated nor reordered.
 *
 * @returns how many of the events the stream has, and the refusal of the next one
 * @throws ArchiveUnavailable, ArchiveCut
 */
const archiveStream = async (
  store: Appendable,
  stream: string,
  first: number,
  events: readonly ArchivedEvent[],
): Promise<{ readonly archived: number; readonly refused: StreamRefused | null }> => {
  let archived = 0;
  let bytes = maxAppendBytes;
  try {
    while (archived < events.length) {
      const portion = portionOf(events.slice(archived), bytes);
      const revision = first + archived;
      try {
        await store.append(stream, revision, portion);
        archived += portion.length;
      } catch (error) {
        if (error instanceof AppendTooLarge && portion.length > 1) {
          // The server's limit is lower.
          bytes = portion.reduce((sum, { size }) => sum + size, 0) / 2;
          continue;
        }
        if (!(error instanceof WrongRevision)) throw error;
        const found = await store.ids(stream, revision, portion.length);
        if (found.length === 0) throw new ArchiveCut(stream, revision);
        const foreign = found.findIndex((id, index) => id !== portion[index]?.id);
        archived += foreign === -1 ? found.length : foreign;
        if (foreign !== -1) {
          const message = `Another event has its revision, ${revision + foreign}`;
          throw new StreamRefused(message, { cause: error });
        }
      }
    }
    return { archived, refused: null };
  } catch (error) {
    if (error instanceof StreamRefused) return { archived, refused: error };
    throw error;
  }
};

/**
 * Returns a handler that copies batches to the archive, each event once and in order, also if a batch is handled again
 * after a crash or by two archivers concurrently. A refused event becomes a dead letter, and later events of its subject
 * are parked.
 */
export const createArchiver = (options: {
  readonly pool: Pool;
  readonly log: ReadLog;
  readonly store: Appendable;
  readonly logger: Logger;
  /** Aborts the current batch, which the next archiver handles again. */
  readonly stopped: AbortSignal;
}): ((batch: Batch) => Promise<void>) => {
  const { pool, log, store, logger, stopped } = options;
  return async (batch) => {
    const { topic, partition } = batch;
    const { fresh, marks, blocked, revisions: next } = await readDue(pool, batch, log);

    const deadLetters: DeadLetter[] = [];
    const due: ReadableRecord[] = [];
    for (const incoming of fresh) {
      const { subject } = incoming;
      if ('error' in incoming) {
        deadLetters.push({ incoming, error: incoming.error.message });
        blocked.add(subject);
      } else if (blocked.has(subject)) deadLetters.push({ incoming, error: null });
      else due.push(incoming);
    }

    const revisions = new Map<string, number>();
    const archiving = concurrently(
      groupBy(due, ({ event }) => streamOf(event)),
      { concurrency: concurrentAppends, signal: stopped },
      async ([stream, records]) => {
        const first = next.get(stream) ?? 0;
        const events = records.map(({ event }) => archivedEvent(event));
        const { archived, refused } = await archiveStream(store, stream, first, events);
        revisions.set(stream, first + archived);
        records.slice(archived).forEach((incoming, index) => {
          const error = index === 0 ? (refused?.message ?? null) : null;
          deadLetters.push({ incoming, error });
        });
      },
    );
    await untilAborted(archiving, stopped);
    await saveArchived(pool, batch, log, { marks, revisions, deadLetters });
    if (deadLetters.length === 0) return;
    logger.error(
      { topic, partition, deadLetters: deadLetters.length, offsets: offsetsOf(deadLetters) },
      'records were set aside as dead letters of the archive',
    );
  };
};
