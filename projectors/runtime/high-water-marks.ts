import type { EventLog, TopicPartition } from '../../ops/event-log/port.js';
import { valuesByField, type Client } from '../../ops/platform/postgres/pool.js';
import { ledgerSource, originOf, spoolIdOf } from '../../schemas/events/envelope.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { recordTimeOf, timeOfUuid } from '../../schemas/events/time.js';
import type { ProjectionSchema } from './projection.js';
import type { IncomingRecord } from './read-record.js';

interface HighWaterMark {
  readonly sequence: number;
  /**
   * For a spool or an import, the newest day of the partition's visits of spools and imports when the mark was raised, in
   * days since 1970 (UTC). It is the day of their records (`recordTimeOf`).
   * `null` for a subject, whose mark does not expire.
   */
  readonly day: number | null;
}

/** The high-water mark of each origin (a subject, or the source of visits) in one partition. */
export type HighWaterMarks = Map<string, HighWaterMark>;

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };

/**
 * How long the mark of a spool is kept after its last visit, in days of the partition's record time. Each start of an edge
 * creates a spool, so marks must expire.
 *
 * Visits are repeated only if the shipping process died before it recorded that they were sent. The next process ships
 * them within seconds, so a repeat after 30 days is possible only if the disk was detached in between.
 */
const spoolDays = 30;

const isExpired = (day: number | null, newest: number | null): boolean =>
  day !== null && newest !== null && newest - day > spoolDays;

export const isSpooled = (event: LinklogEvent): boolean => event.source !== ledgerSource;

/** Whether the log may repeat the event, so that its origin needs a mark. */
export const needsMark = (
  event: LinklogEvent,
  { mayRepeatLedger }: Pick<EventLog, 'mayRepeatLedger'>,
): boolean => mayRepeatLedger || isSpooled(event);

const dayAt = (time: number): number => Math.floor(time / 86_400_000);

const dayOf = (event: LinklogEvent): number => dayAt(recordTimeOf(event));

/** Consecutive events of an origin that were missing when a later one was read. */
interface SkippedSequences {
  /** The origin: a subject, or the source of a spool's visits. */
  readonly subject: string;
  readonly first: number;
  readonly last: number;
}

export type SequenceGap = SkippedSequences & TopicPartition;

/**
 * Whether the sequences that an event skips are missing. Spools of older logs, and imports, have one sequence for all
 * partitions. If an old spool has no mark, its mark may have expired.
 */
const skipsMissing = (event: LinklogEvent, hasMark: boolean): boolean => {
  if (!isSpooled(event)) return true;
  const spoolId = spoolIdOf(event.source);
  if (spoolId === null) return false;
  const createdAt = hasMark ? null : timeOfUuid(spoolId);
  return createdAt === null || dayOf(event) - dayAt(createdAt) <= spoolDays;
};

/**
 * Drops repeats, and returns the raised high-water marks and the skipped sequences of origins. First occurrences ascend,
 * so a sequence at or below its origin's mark is a repeat. A broken record has no sequence and is kept. `newest` is the
 * newest day of the partition's spooled visits.
 *
 * Events of the ledger have no marks if the log cannot repeat them. A mark expires at a record, independently of the end
 * of a batch.
 */
export const dropRepeats = (
  incoming: readonly IncomingRecord[],
  highWaterMarks: ReadonlyMap<string, HighWaterMark>,
  log: Pick<EventLog, 'mayRepeatLedger'>,
  newest: number | null = null,
): {
  readonly fresh: readonly IncomingRecord[];
  readonly raised: HighWaterMarks;
  readonly skipped: readonly SkippedSequences[];
  readonly newest: number | null;
} => {
  const raised = new Map<string, Mutable<HighWaterMark>>();
  let origin = '';
  /** The current mark of the origin, and the mark that these records raise. */
  let mark: HighWaterMark | undefined;
  let rising: Mutable<HighWaterMark> | undefined;
  const skipped: SkippedSequences[] = [];
  const fresh = incoming.filter((record) => {
    if (!('event' in record)) return true;
    const { event } = record;
    if (!needsMark(event, log)) return true;
    // Adjacent visits are mostly of the same spool.
    if (originOf(event) !== origin) {
      origin = originOf(event);
      rising = raised.get(origin);
      mark = rising ?? highWaterMarks.get(origin);
    }
    const known = mark && !isExpired(mark.day, newest) ? mark : null;
    const last = known?.sequence ?? 0;
    const { sequence } = event;
    if (sequence <= last) return false;
    if (sequence > last + 1 && skipsMissing(event, known !== null)) {
      skipped.push({ subject: origin, first: last + 1, last: sequence - 1 });
    }
    if (isSpooled(event)) newest = Math.max(newest ?? 0, dayOf(event));
    if (!rising) {
      mark = rising = { sequence: 0, day: null };
      raised.set(origin, rising);
    }
    rising.sequence = sequence;
    rising.day = isSpooled(event) ? newest : null;
    return true;
  });
  return { fresh, raised, skipped, newest };
};

export const insertGaps = async (
  tx: Client,
  schema: ProjectionSchema,
  gaps: readonly SequenceGap[],
): Promise<void> => {
  if (gaps.length === 0) return;
  await tx.query(
    `INSERT INTO ${schema}.missing_events (topic, partition, subject, first_sequence, last_sequence)
     SELECT * FROM unnest($1::text[], $2::smallint[], $3::text[], $4::bigint[], $5::bigint[])
     ON CONFLICT DO NOTHING`,
    valuesByField(gaps, 'topic', 'partition', 'subject', 'first', 'last'),
  );
};

/** Reads and writes what a schema stores about one partition. */
export const marksIn = (
  tx: Client,
  schema: ProjectionSchema,
  { topic, partition }: TopicPartition,
) => ({
  async gaps(subjects: readonly string[]): Promise<readonly SequenceGap[]> {
    const { rows } = await tx.query<SequenceGap>(
      `SELECT topic, partition, subject, first_sequence AS first, last_sequence AS last
       FROM ${schema}.missing_events
       WHERE topic = $1 AND partition = $2 AND subject = ANY ($3::text[])`,
      [topic, partition, subjects],
    );
    return rows;
  },

  async read(origins: readonly string[]): Promise<HighWaterMarks> {
    const { rows } = await tx.query<HighWaterMark & { readonly origin: string }>({
      name: `marks-of-${schema}`,
      text: `SELECT origin, sequence, raised_on - date 'epoch' AS day FROM ${schema}.high_water_marks
             WHERE topic = $1 AND partition = $2 AND origin = ANY ($3::text[])`,
      values: [topic, partition, origins],
    });
    return new Map(rows.map(({ origin, ...mark }) => [origin, mark]));
  },

  /** Returns the newest day of the partition's spooled visits; `null` if it has none. */
  async newestDay(): Promise<number | null> {
    const { rows } = await tx.query<{ day: number | null }>({
      name: `newest-mark-of-${schema}`,
      text: `SELECT max(raised_on) - date 'epoch' AS day FROM ${schema}.high_water_marks
             WHERE topic = $1 AND partition = $2`,
      values: [topic, partition],
    });
    return rows[0]?.day ?? null;
  },

  async delete(origins: Iterable<string>): Promise<void> {
    await tx.query(
      `DELETE FROM ${schema}.high_water_marks
       WHERE topic = $1 AND partition = $2 AND origin = ANY ($3::text[])`,
      [topic, partition, [...origins]],
    );
  },

  /** Writes raised high-water marks and deletes expired ones. Only an expired mark may be lowered. */
  async write(raised: HighWaterMarks): Promise<void> {
    if (raised.size === 0) return;
    const rows = Array.from(raised, ([origin, mark]) => ({ origin, ...mark }));
    await tx.query({
      name: `marks-write-${schema}`,
      text: `INSERT INTO ${schema}.high_water_marks AS m (topic, partition, origin, sequence, raised_on)
             SELECT $1, $2, origin, sequence, date 'epoch' + day
             FROM unnest($3::text[], $4::bigint[], $5::integer[]) AS r (origin, sequence, day)
             ON CONFLICT (topic, partition, origin) DO UPDATE SET
               sequence = excluded.sequence, raised_on = greatest(m.raised_on, excluded.raised_on)
             WHERE excluded.sequence > m.sequence OR excluded.raised_on - m.raised_on > $6`,
      values: [topic, partition, ...valuesByField(rows, 'origin', 'sequence', 'day'), spoolDays],
    });
    if (rows.every(({ day }) => day === null)) return;
    await tx.query({
      name: `marks-over-${schema}`,
      text: `DELETE FROM ${schema}.high_water_marks
             WHERE topic = $1 AND partition = $2 AND raised_on < $3::integer + (
               SELECT max(raised_on) FROM ${schema}.high_water_marks
               WHERE topic = $1 AND partition = $2)`,
      values: [topic, partition, -spoolDays],
    });
  },
});
