import type { Batch, EventLog } from '../../ops/event-log/port.js';
import { arrayLiteral } from '../../ops/platform/postgres/array-literal.js';
import type { Client } from '../../ops/platform/postgres/pool.js';
import { groupBy } from '../../ops/platform/group-by.js';
import { originOf } from '../../schemas/events/envelope.js';
import type { TopicName } from '../../schemas/events/topics.js';
import {
  dropRepeats,
  isSpooled,
  needsMark,
  readHighWaterMarks,
  readNewestDays,
  type HighWaterMarks,
} from './high-water-marks.js';
import type { Projection, ProjectionSchema } from './projection.js';
import { readRecords, type IncomingRecord } from './read-record.js';
import type { SequenceGap } from './sequence-gaps.js';
import { SpoolBlocks } from './spool-blocks.js';

/** Adds those of `all` to `known` that it has not, and returns them. */
const addNew = (known: Set<string>, all: readonly string[]): readonly string[] => {
  const added = all.filter((one) => {
    const before = known.size;
    return known.add(one).size > before;
  });
  return added;
};

/** What is known of a partition whose records are read. */
class PartitionReading {
  /** By the records that were read so far. */
  readonly raised: HighWaterMarks = new Map();
  /** Subjects that have dead letters: their later events are parked. */
  readonly blocked = new Set<string>();
  readonly marks: HighWaterMarks = new Map();
  /** The newest day of its spooled visits; `undefined`: not known yet. */
  newest: number | null | undefined;
  readonly gaps: SequenceGap[] = [];
  readonly blocks = new SpoolBlocks();
  /** Subjects of records that cannot be read: what their events skip may be in these. */
  readonly broken = new Set<string>();
  readonly origins = new Set<string>();
  readonly subjects = new Set<string>();

  constructor(
    readonly topic: TopicName,
    readonly partition: number,
  ) {}
}

/** Some records of a partition, in order, without repeats. */
export interface FreshBatch {
  readonly fresh: readonly IncomingRecord[];
  /** By all records of the partition so far. */
  readonly raised: HighWaterMarks;
  readonly blocked: Set<string>;
  /** Events that are missing, by all records of the partition so far. */
  readonly gaps: readonly SequenceGap[];
  /** The visits of spools, by all records of the partition so far. */
  readonly blocks: SpoolBlocks;
}

/** Names of which something is to be learnt, of a partition. */
interface Asked {
  readonly of: PartitionReading;
  readonly names: readonly string[];
}

/**
 * Reads the records of partitions, some after the others, and leaves out repeats. To ask about all partitions in one
 * statement costs little more than to ask about one.
 */
export class FreshRecords {
  readonly #partitions = new Map<string, PartitionReading>();
  /** Whether a topic has any dead letter. */
  readonly #hasLetters = new Map<TopicName, boolean>();

  constructor(
    private readonly tx: Client,
    private readonly schema: ProjectionSchema,
    private readonly log: Pick<EventLog, 'mayRepeatLedger'>,
    private readonly sequences: NonNullable<Projection['sequences']> = {},
  ) {}

  /** Reads the next records of partitions, each of them once. @throws UnknownEventType */
  async read(batches: readonly Batch[]): Promise<readonly FreshBatch[]> {
    const all = batches.map((batch) => {
      return { of: this.#readingOf(batch), incoming: readRecords(batch.topic, batch.records) };
    });
    const origins = all.map(({ of, incoming }) => {
      const found: string[] = [];
      for (const one of incoming) {
        if (!('event' in one) || !needsMark(one.event, this.log)) continue;
        const origin = originOf(one.event);
        // Visits of one spool follow one another.
        if (origin !== found.at(-1)) found.push(origin);
      }
      return { of, names: addNew(of.origins, found) };
    });
    const spooled = all.filter(({ incoming }) =>
      incoming.some((one) => 'event' in one && isSpooled(one.event)),
    );
    const subjects = all.map(({ of, incoming }) => {
      return { of, names: incoming.map(({ subject }) => subject) };
    });
    await Promise.all([
      this.#learnMarks(origins.filter(({ names }) => names.length > 0)),
      this.#learnNewest(spooled.map(({ of }) => of).filter(({ newest }) => newest === undefined)),
      this.#learnBlocked(subjects),
    ]);
    return all.map(({ of, incoming }) => {
      const { topic, partition, marks, gaps, blocks } = of;
      const dropped = dropRepeats(incoming, marks, this.log, of.newest, blocks);
      const { fresh, raised, skipped } = dropped;
      of.newest = dropped.newest ?? of.newest;
      for (const one of incoming) if ('error' in one) of.broken.add(one.subject);
      for (const gap of skipped) {
        const { subject } = gap;
        if (of.blocked.has(subject) || of.broken.has(subject)) continue;
        gaps.push({ topic, partition, ...gap });
      }
      for (const [origin, mark] of raised) {
        of.marks.set(origin, mark);
        of.raised.set(origin, mark);
      }
      return { fresh, raised: of.raised, blocked: of.blocked, gaps, blocks };
    });
  }

  #readingOf({ topic, partition }: Batch): PartitionReading {
    const name = `${topic}/${partition}`;
    const known = this.#partitions.get(name) ?? new PartitionReading(topic, partition);
    this.#partitions.set(name, known);
    return known;
  }

  async #learnMarks(asked: readonly Asked[]): Promise<void> {
    if (asked.length === 0) return;
    const { tx, schema } = this;
    const places = asked.map(({ of: { topic, partition }, names }) => {
      return { topic, partition, origins: names };
    });
    const byTopic = [...groupBy(asked, ({ of }) => of.topic)];
    const [marks, ...sequences] = await Promise.all([
      readHighWaterMarks(tx, schema, places),
      ...byTopic.map(([topic, some]) =>
        this.sequences[topic]?.(
          tx,
          schema,
          some.flatMap(({ names }) => names),
        ),
      ),
    ]);
    asked.forEach(({ of }, index) => {
      for (const [origin, mark] of marks[index] ?? []) of.marks.set(origin, mark);
    });
    byTopic.forEach(([, some], index) => {
      for (const { of, names } of some) {
        for (const origin of names) {
          const sequence = sequences[index]?.get(origin) ?? 0;
          if (sequence > (of.marks.get(origin)?.sequence ?? 0))
            of.marks.set(origin, { sequence, day: null });
        }
      }
    });
  }

  async #learnNewest(partitions: readonly PartitionReading[]): Promise<void> {
    if (partitions.length === 0) return;
    const days = await readNewestDays(this.tx, this.schema, partitions);
    partitions.forEach((of, index) => {
      of.newest = days[index] ?? null;
    });
  }

  async #learnBlocked(all: readonly Asked[]): Promise<void> {
    const { tx, schema } = this;
    await this.#findLetters(all.map(({ of }) => of.topic));
    const asked = all
      .filter(({ of }) => this.#hasLetters.get(of.topic))
      .map(({ of, names }) => ({ of, names: addNew(of.subjects, names) }));
    await Promise.all(
      Array.from(
        groupBy(asked, ({ of }) => of.topic),
        async ([topic, some]) => {
          const { rows } = await tx.query<{ subject: string }>({
            name: `dead-letters-of-${schema}`,
            text: `SELECT DISTINCT subject FROM ${schema}.dead_letters
                 WHERE topic = $1 AND subject = ANY ($2::text[])`,
            values: [topic, arrayLiteral(some.flatMap(({ names }) => names))],
          });
          const blocked = new Set(rows.map(({ subject }) => subject));
          for (const { of, names } of some) {
            for (const subject of names) if (blocked.has(subject)) of.blocked.add(subject);
          }
        },
      ),
    );
  }

  /** While the transaction has the partitions' checkpoints, nobody else adds a letter of one of their subjects. */
  async #findLetters(topics: readonly TopicName[]): Promise<void> {
    const unknown = [...new Set(topics)].filter((topic) => !this.#hasLetters.has(topic));
    if (unknown.length === 0) return;
    const { rows } = await this.tx.query<{ topic: TopicName; has: boolean }>({
      name: `any-dead-letter-of-${this.schema}`,
      text: `SELECT topic, EXISTS (SELECT FROM ${this.schema}.dead_letters d WHERE d.topic = t.topic) AS has
             FROM unnest($1::text[]) AS t (topic)`,
      values: [unknown],
    });
    for (const { topic, has } of rows) this.#hasLetters.set(topic, has);
  }
}
