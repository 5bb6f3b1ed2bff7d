import type { EventLog, LogRecord, TopicPartition } from '../../ops/event-log/port.js';
import type { Client } from '../../ops/platform/postgres/pool.js';
import { originOf } from '../../schemas/events/envelope.js';
import {
  dropRepeats,
  isSpooled,
  marksIn,
  needsMark,
  type HighWaterMarks,
  type SequenceGap,
} from './high-water-marks.js';
import type { Projection, ProjectionSchema } from './projection.js';
import { readRecords, type IncomingRecord } from './read-record.js';

const addNew = (known: Set<string>, names: Iterable<string>): readonly string[] => {
  const added = [...new Set(names)].filter((name) => !known.has(name));
  for (const name of added) known.add(name);
  return added;
};

/** Reads consecutive chunks of a partition and drops repeats. */
export class Deduplicator {
  /** The raised high-water marks of all chunks. */
  readonly raised: HighWaterMarks = new Map();
  /** Subjects with dead letters, whose later events are parked. */
  readonly blocked = new Set<string>();
  readonly gaps: SequenceGap[] = [];
  readonly #marks: HighWaterMarks = new Map();
  /** The newest day of spooled visits; `undefined` if it was not read yet. */
  #newest: number | null | undefined;
  /** Subjects of unreadable records, which may have the sequences that their events skip. */
  readonly #broken = new Set<string>();
  readonly #origins = new Set<string>();
  readonly #subjects = new Set<string>();
  /** Stays valid: no other transaction adds dead letters while this one locks the checkpoint. */
  #hasDeadLetters: boolean | undefined;

  constructor(
    private readonly tx: Client,
    private readonly schema: ProjectionSchema,
    private readonly log: Pick<EventLog, 'mayRepeatLedger'>,
    private readonly topicPartition: TopicPartition,
    private readonly sequences: NonNullable<Projection['sequences']> = {},
  ) {}

  /** Returns the records of the next chunk that are not repeats. @throws UnknownEventType */
  async read(records: readonly LogRecord[]): Promise<readonly IncomingRecord[]> {
    const { topic, partition } = this.topicPartition;
    const incoming = readRecords(topic, records);
    await Promise.all([
      this.#readMarks(incoming),
      this.#readNewest(incoming),
      this.#readBlocked(incoming),
    ]);
    const newest = this.#newest ?? null;
    const result = dropRepeats(incoming, this.#marks, this.log, newest);
    this.#newest = result.newest ?? this.#newest;
    for (const record of incoming) if ('error' in record) this.#broken.add(record.subject);
    for (const gap of result.skipped) {
      if (this.blocked.has(gap.subject) || this.#broken.has(gap.subject)) continue;
      this.gaps.push({ topic, partition, ...gap });
    }
    for (const [origin, mark] of result.raised) {
      this.#marks.set(origin, mark);
      this.raised.set(origin, mark);
    }
    return result.fresh;
  }

  async #readMarks(incoming: readonly IncomingRecord[]): Promise<void> {
    const found: string[] = [];
    for (const record of incoming) {
      if (!('event' in record) || !needsMark(record.event, this.log)) continue;
      const origin = originOf(record.event);
      // Adjacent visits are mostly of the same spool.
      if (origin !== found.at(-1)) found.push(origin);
    }
    const origins = addNew(this.#origins, found);
    if (origins.length === 0) return;
    const { tx, schema, topicPartition } = this;
    const [marks, sequences] = await Promise.all([
      marksIn(tx, schema, topicPartition).read(origins),
      this.sequences[topicPartition.topic]?.(tx, schema, origins),
    ]);
    for (const [origin, mark] of marks) this.#marks.set(origin, mark);
    for (const origin of origins) {
      const sequence = sequences?.get(origin) ?? 0;
      if (sequence > (this.#marks.get(origin)?.sequence ?? 0))
        this.#marks.set(origin, { sequence, day: null });
    }
  }

  async #readNewest(incoming: readonly IncomingRecord[]): Promise<void> {
    if (this.#newest !== undefined) return;
    if (!incoming.some((record) => 'event' in record && isSpooled(record.event))) return;
    this.#newest = await marksIn(this.tx, this.schema, this.topicPartition).newestDay();
  }

  async #readBlocked(incoming: readonly IncomingRecord[]): Promise<void> {
    const { tx, schema } = this;
    const { topic } = this.topicPartition;
    if (this.#hasDeadLetters === undefined) {
      const { rows } = await tx.query<{ has: boolean }>({
        name: `any-dead-letter-of-${schema}`,
        text: `SELECT EXISTS (SELECT FROM ${schema}.dead_letters WHERE topic = $1) AS has`,
        values: [topic],
      });
      this.#hasDeadLetters = rows[0]?.has ?? false;
    }
    if (!this.#hasDeadLetters) return;
    const subjects = addNew(
      this.#subjects,
      incoming.map(({ subject }) => subject),
    );
    const { rows } = await tx.query<{ subject: string }>({
      name: `dead-letters-of-${schema}`,
      text: `SELECT DISTINCT subject FROM ${schema}.dead_letters
             WHERE topic = $1 AND subject = ANY ($2::text[])`,
      values: [topic, subjects],
    });
    for (const { subject } of rows) this.blocked.add(subject);
  }
}
