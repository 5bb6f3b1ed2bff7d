import { validate as isUuid, v5 as uuidv5 } from 'uuid';
import { concurrently, untilAborted } from '../../../ops/platform/concurrency/deferred.js';
import type { Batch, EventLog } from '../../../ops/event-log/port.js';
import { groupBy } from '../../../ops/platform/collections.js';
import type { Logger } from '../../../ops/platform/logging.js';
import { transaction, valuesByField, type Pool } from '../../../ops/platform/postgres/pool.js';
import {
  isAliasOverrideEvent,
  isApiKeyEvent,
  isDomainEvent,
  isInvitationEvent,
  isLinkEvent,
  isVisit,
  isPersonEvent,
  isPlatformEvent,
  isShareEvent,
  isUsageEvent,
  isUtmTemplateEvent,
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
import type { ArchivedEvent } from './store.js';
import { archiveStream, type StreamStore } from './stream.js';

/** The server and its HTTP/2 connection accept about a hundred. */
const concurrentAppends = 32;

/** Returns the stream of an event. `$by_category` groups streams by the part before the first hyphen. */
export const streamOf = (event: LinklogEvent): string => {
  const { subject } = event;
  if (isLinkEvent(event)) return `link-${subject}`;
  if (isVisit(event)) return `visits-${subject}`;
  if (isApiKeyEvent(event)) return `key-${subject}`;
  if (isAliasOverrideEvent(event)) return `alias-${subject}`;
  if (isDomainEvent(event)) return `domain-${subject}`;
  if (isWebhookEvent(event)) return `webhook-${subject}`;
  if (isShareEvent(event)) return `share-${subject}`;
  if (isPersonEvent(event)) return `person-${subject}`;
  if (isInvitationEvent(event)) return `invitation-${subject}`;
  if (isUtmTemplateEvent(event)) return `template-${subject}`;
  if (isUsageEvent(event)) return `usage-${subject}`;
  if (isPlatformEvent(event)) return 'platform';
  const unknown: never = event;
  return unknown;
};

/** Whether `streamOf` returns such names; a server may have other streams. */
export const isArchived = (stream: string): boolean =>
  /^(?:platform$|(?:link|visits|key|usage|alias|domain|webhook|share|person|invitation|template)-)/.test(
    stream,
  );

/** Returns an event's id in the archive, which accepts only UUIDs: a spooled visit gets a UUIDv5. */
export const archiveIdOf = ({ id, source }: Pick<LinklogEvent, 'id' | 'source'>): string =>
  isUuid(id) ? id : uuidv5(`${source}#${id}`, uuidv5.URL);

/** Removes secrets; attributes besides id, type and data become metadata. */
export const archivedEvent = (event: LinklogEvent): ArchivedEvent => {
  const archived = { ...(withoutSecrets(event) as LinklogEvent), id: archiveIdOf(event) };
  const { id, type, data, ...attributes } = archived;
  const metadata = {
    ...attributes,
    // The names that EventStoreDB's own projections and UI use.
    ...(event.correlationid !== undefined && { $correlationId: event.correlationid }),
    ...(event.causationid !== undefined && { $causationId: event.causationid }),
  };
  return { id, type, data, metadata };
};

interface StreamProgress {
  readonly stream: string;
  /** The revision of its next event. */
  readonly next: number;
  /** Its events that retention or a deletion has removed. */
  readonly removed: number;
}

/**
 * Reads a batch without repeats, the subjects with dead letters, and the progress of each stream in one snapshot, because
 * events would get wrong revisions otherwise.
 *
 * @throws BatchNotAtCheckpoint, UnknownEventType
 */
const readDue = (pool: Pool, batch: Batch, log: ReadLog) =>
  transaction(pool, async (tx) => {
    // The lock comes before the snapshot: a rebuild truncates tables, which older snapshots see as empty.
    await tx.query(
      `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
       LOCK TABLE ${archiveSchema}.checkpoints IN ACCESS SHARE MODE`,
    );
    const { topic, partition } = batch;
    await requireAtCheckpoint(tx, archiveSchema, batch, log.logId(topic));
    const reader = new Deduplicator(tx, archiveSchema, log, batch);
    const fresh = await reader.read(batch.records);
    const { raised: marks, blocked } = reader;
    const streams = fresh.flatMap((record) => ('event' in record ? [streamOf(record.event)] : []));
    const { rows } = await tx.query<StreamProgress>(
      `SELECT stream, next_revision AS next, removed FROM ${archiveSchema}.streams
       WHERE topic = $1 AND partition = $2 AND stream = ANY ($3::text[])`,
      [topic, partition, [...new Set(streams)]],
    );
    return { fresh, marks, blocked, progress: new Map(rows.map((row) => [row.stream, row])) };
  });

/** Saves that a batch is archived. @throws BatchNotAtCheckpoint if another archiver has saved it meanwhile */
const saveArchived = (
  pool: Pool,
  batch: Batch,
  log: Pick<EventLog, 'logId'>,
  done: {
    readonly marks: HighWaterMarks;
    readonly streams: readonly StreamProgress[];
    readonly deadLetters: readonly DeadLetter[];
  },
): Promise<void> =>
  transaction(pool, async (tx) => {
    // A crash of PostgreSQL may undo the last transactions; their batches are archived again.
    await tx.query('SET LOCAL synchronous_commit = off');
    await requireAtCheckpoint(tx, archiveSchema, batch, log.logId(batch.topic), 'FOR UPDATE');
    await tx.query(
      `INSERT INTO ${archiveSchema}.streams (topic, partition, stream, next_revision, removed)
       SELECT $1, $2, * FROM unnest($3::text[], $4::bigint[], $5::bigint[])
       ON CONFLICT (topic, partition, stream) DO UPDATE
       SET next_revision = excluded.next_revision, removed = excluded.removed`,
      [batch.topic, batch.partition, ...valuesByField(done.streams, 'stream', 'next', 'removed')],
    );
    await Promise.all([
      insertDeadLetters(tx, archiveSchema, batch, done.deadLetters),
      saveProgress(tx, archiveSchema, batch, done.marks, log),
    ]);
  });

/** How many events retention or a deletion has removed from the archive, as far as it was copied again. */
export const removedEvents = async (pool: Pool): Promise<number> => {
  const { rows } = await pool.query<{ removed: number }>(
    `SELECT coalesce(sum(removed), 0)::bigint AS removed FROM ${archiveSchema}.streams
     WHERE removed > 0`,
  );
  return rows[0]?.removed ?? 0;
};

/**
 * Returns a handler that copies batches to the archive, each event once and in order, also if a batch is handled again
 * after a crash or by two archivers concurrently. A rejected event becomes a dead letter, and later events of its subject
 * are parked.
 */
export const createArchiver = (options: {
  readonly pool: Pool;
  readonly log: ReadLog & Pick<EventLog, 'ranges'>;
  readonly store: StreamStore;
  readonly logger: Logger;
  /** Aborts the current batch, which the next archiver handles again. */
  readonly stopped: AbortSignal;
}): ((batch: Batch) => Promise<void>) => {
  const { pool, log, store, logger, stopped } = options;
  /**
   * For each partition, the next offset, and where the partition ended when this archiver came to it. Earlier events may be
   * in the archive already: another archiver may have copied them, or this one before a rebuild.
   */
  const positions = new Map<string, { readonly next: number; readonly end: number }>();

  const endOf = async ({ topic, partition, records }: Batch): Promise<number> => {
    const position = positions.get(`${topic}/${partition}`);
    if (position?.next === records.at(0)?.offset) return position?.end ?? 0;
    const ranges = await log.ranges(topic);
    return ranges.find((range) => range.partition === partition)?.next ?? 0;
  };

  return async (batch) => {
    const { topic, partition } = batch;
    const end = await endOf(batch);
    positions.delete(`${topic}/${partition}`);
    const { fresh, marks, blocked, progress } = await readDue(pool, batch, log);

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

    const archivedStreams: StreamProgress[] = [];
    const archiving = concurrently(
      groupBy(due, ({ event }) => streamOf(event)),
      { concurrency: concurrentAppends, signal: stopped },
      async ([stream, records]) => {
        const { next, removed: before } = progress.get(stream) ?? { next: 0, removed: 0 };
        const mayExist = (next === 0 || before > 0) && (records[0]?.record.offset ?? 0) < end;
        const events = records.map(({ event }) => archivedEvent(event));
        const { archived, removed, rejected } = await archiveStream(
          ...([store, stream, next, events, mayExist] as const),
        );
        archivedStreams.push({ stream, next: next + archived, removed: before + removed });
        records.slice(archived).forEach((incoming, index) => {
          deadLetters.push({ incoming, error: index === 0 ? rejected : null });
        });
      },
    );
    await untilAborted(archiving, stopped);
    await saveArchived(pool, batch, log, { marks, streams: archivedStreams, deadLetters });
    positions.set(`${topic}/${partition}`, { next: (batch.records.at(-1)?.offset ?? 0) + 1, end });
    if (deadLetters.length === 0) return;
    logger.error(
      { topic, partition, deadLetters: deadLetters.length, offsets: offsetsOf(deadLetters) },
      'records were set aside as dead letters of the archive',
    );
  };
};
