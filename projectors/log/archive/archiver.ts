import { validate as isUuid, v5 as uuidv5 } from 'uuid';
import { concurrently } from '../../../ops/platform/concurrency/concurrently.js';
import { untilAborted } from '../../../ops/platform/concurrency/deferred.js';
import type { Batch, EventLog } from '../../../ops/event-log/port.js';
import { groupBy } from '../../../ops/platform/group-by.js';
import type { Logger } from '../../../ops/platform/logging.js';
import { transaction, type Pool } from '../../../ops/platform/postgres/pool.js';
import {
  isAliasOverrideEvent,
  isApiKeyEvent,
  isLinkEvent,
  isPlatformEvent,
  isUsageEvent,
  type LinklogEvent,
} from '../../../schemas/events/catalogue.js';
import { withoutSecrets } from '../../../schemas/events/redact.js';
import { saveProgress, type ReadLog } from '../../runtime/batch.js';
import { requireAtCheckpoint } from '../../runtime/checkpoints.js';
import { FreshRecords } from '../../runtime/fresh-records.js';
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

/** Appends at once: the server, and HTTP/2 to it, can take about a hundred. */
const appendsAtOnce = 32;

/** Most bytes in one append: by default the server takes 1 MiB. */
const maxAppendBytes = 1_000_000;

/** The name of an event's stream. `$by_category` sorts streams by the part before the subject. */
export const streamOf = (event: LinklogEvent): string => {
  const { subject } = event;
  if (isLinkEvent(event)) return `link-${subject}`;
  if (event.type === 'linklog.LinkVisited.v2') return `visits-${subject}`;
  if (isApiKeyEvent(event)) return `key-${subject}`;
  if (isAliasOverrideEvent(event)) return `alias-${subject}`;
  if (isUsageEvent(event)) return `usage-${subject}`;
  if (isPlatformEvent(event)) return 'platform';
  const unknown: never = event;
  return unknown;
};

/** An event's id in the archive, which takes UUIDs alone: a visit that a spool numbered gets a UUIDv5. */
export const archiveIdOf = ({ id, source }: Pick<LinklogEvent, 'id' | 'source'>): string =>
  isUuid(id) ? id : uuidv5(`${source}#${id}`, uuidv5.URL);

/** The event less its secrets, as EventStoreDB stores it: what is not its id, type or data is metadata. */
const archivedEvent = (event: LinklogEvent): ArchivedEvent => {
  const told = { ...(withoutSecrets(event) as LinklogEvent), id: archiveIdOf(event) };
  const { id, type, data, ...attributes } = told;
  const metadata = {
    ...attributes,
    // The names by which EventStoreDB's own projections and UI follow causes.
    ...(event.correlationid !== undefined && { $correlationId: event.correlationid }),
    ...(event.causationid !== undefined && { $causationId: event.causationid }),
  };
  const bytes = Buffer.byteLength(JSON.stringify(data) + JSON.stringify(metadata));
  return { id, type, data, metadata, size: bytes + type.length * 2 };
};

type Appendable = Pick<ArchiveStore, 'append' | 'ids'>;

/**
 * Reads a batch without its repeats, the subjects with dead letters, and by stream the revision of its
 * next event: all of one moment, or its events would get other places.
 *
 * @throws BatchNotAtCheckpoint, UnknownEventType
 */
const readDue = (pool: Pool, batch: Batch, log: ReadLog) =>
  transaction(pool, async (tx) => {
    await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const { topic, partition } = batch;
    await requireAtCheckpoint(tx, archiveSchema, batch, log.logId(topic));
    const [read] = await new FreshRecords(tx, archiveSchema, log).read([batch]);
    if (!read) throw new Error('A batch was not read');
    const { fresh, raised: marks, blocked } = read;
    const streams = fresh.flatMap((one) => ('event' in one ? [streamOf(one.event)] : []));
    const { rows } = await tx.query<{ stream: string; next: number }>(
      `SELECT stream, next_revision AS next FROM ${archiveSchema}.streams
       WHERE topic = $1 AND partition = $2 AND stream = ANY ($3::text[])`,
      [topic, partition, [...new Set(streams)]],
    );
    return {
      fresh,
      marks,
      blocked,
      revisions: new Map(rows.map(({ stream, next }) => [stream, next])),
    };
  });

/**
 * Saves that a batch is archived.
 *
 * @throws BatchNotAtCheckpoint when another archiver has saved the same meanwhile
 */
const saveArchived = (
  pool: Pool,
  batch: Batch,
  log: Pick<EventLog, 'logId'>,
  done: {
    readonly marks: HighWaterMarks;
    readonly revisions: ReadonlyMap<string, number>;
    readonly letters: readonly DeadLetter[];
  },
): Promise<void> =>
  transaction(pool, async (tx) => {
    // A crash of PostgreSQL may undo the last batches, each as a whole: they are archived again.
    await tx.query('SET LOCAL synchronous_commit = off');
    await requireAtCheckpoint(tx, archiveSchema, batch, log.logId(batch.topic), 'FOR UPDATE');
    await tx.query(
      `INSERT INTO ${archiveSchema}.streams (topic, partition, stream, next_revision)
       SELECT $1, $2, * FROM unnest($3::text[], $4::bigint[])
       ON CONFLICT (topic, partition, stream) DO UPDATE SET next_revision = excluded.next_revision`,
      [batch.topic, batch.partition, [...done.revisions.keys()], [...done.revisions.values()]],
    );
    await Promise.all([
      insertDeadLetters(tx, archiveSchema, batch, done.letters),
      saveProgress(tx, archiveSchema, [{ batch, marks: done.marks }], log),
    ]);
  });

/** The first events that fit into one append: at least one. */
const portionOf = (events: readonly ArchivedEvent[], bytes: number): readonly ArchivedEvent[] => {
  let total = 0;
  const end = events.findIndex(({ size }, index) => (total += size) > bytes && index > 0);
  return end === -1 ? events : events.slice(0, end);
};

/**
 * Archives events of one stream. The first has revision `first`; events that an earlier try, or
 * another archiver, has appended are left as they are. An event's place follows from the log alone,
 * so it can be neither doubled nor out of order.
 *
 * @returns how many of the events the stream has, and why it refuses the next one, if it does
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
          // The server takes less: try half as much.
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
 * Returns a handler that copies batches to the archive: every event once, in order. The place of an
 * event follows from the log alone, so a batch may be handled again after a crash, and by two
 * archivers at once. An event that no archive takes becomes a dead letter, and later events of its
 * subject are parked behind it.
 */
export const createArchiver = (options: {
  readonly pool: Pool;
  readonly log: ReadLog;
  readonly store: Appendable;
  readonly logger: Logger;
  /** Ends a batch at once; the next archiver handles it again. */
  readonly stopped: AbortSignal;
}): ((batch: Batch) => Promise<void>) => {
  const { pool, log, store, logger, stopped } = options;
  return async (batch) => {
    const { topic, partition } = batch;
    const { fresh, marks, blocked, revisions: next } = await readDue(pool, batch, log);

    const letters: DeadLetter[] = [];
    const due: ReadableRecord[] = [];
    for (const one of fresh) {
      if ('error' in one) {
        letters.push({ incoming: one, error: one.error.message });
        blocked.add(one.subject);
      } else if (blocked.has(one.subject)) {
        letters.push({ incoming: one, error: null });
      } else {
        due.push(one);
      }
    }

    const revisions = new Map<string, number>();
    const archiving = concurrently(
      groupBy(due, ({ event }) => streamOf(event)),
      { atOnce: appendsAtOnce, signal: stopped },
      async ([stream, records]) => {
        const first = next.get(stream) ?? 0;
        const events = records.map(({ event }) => archivedEvent(event));
        const { archived, refused } = await archiveStream(store, stream, first, events);
        revisions.set(stream, first + archived);
        records.slice(archived).forEach((one, index) => {
          letters.push({ incoming: one, error: index === 0 ? (refused?.message ?? null) : null });
        });
      },
    );
    await untilAborted(archiving, stopped);
    await saveArchived(pool, batch, log, { marks, revisions, letters });
    if (letters.length === 0) return;
    logger.error(
      { topic, partition, letters: letters.length, offsets: offsetsOf(letters) },
      'records were set aside as dead letters of the archive',
    );
  };
};
