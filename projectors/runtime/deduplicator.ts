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

const addNew = (known: Set<string>, names: readonly string[]): readonly string[] => {
  const added = [...new Set(names)].filter((name) => !known.has(name));
  for (const name of added) known.add(name);
  return added;
};

class PartitionState {
  readonly raised: HighWaterMarks = new Map();
  /** Subjects with dead letters, whose later events are parked. */
  readonly blocked = new Set<string>();
  readonly marks: HighWaterMarks = new Map();
  /** The newest day of spooled visits; `undefined` if it was not read yet. */
  newest: number | null | undefined;
  readonly gaps: SequenceGap[] = [];
  readonly blocks = new SpoolBlocks();
  /** Subjects of unreadable records, which may have the sequences that their events skip. */
  readonly broken = new Set<string>();
  readonly origins = new Set<string>();
  readonly subjects = new Set<string>();

  constructor(
    readonly topic: TopicName,
    readonly partition: number,
  ) {}
}

/** A batch without repeats. The fields besides `fresh` accumulate over the batches of the partition. */
export interface FreshBatch extends Pick<PartitionState, 'raised' | 'blocked' | 'blocks'> {
  readonly fresh: readonly IncomingRecord[];
  readonly gaps: readonly SequenceGap[];
}

interface Lookup {
  readonly state: PartitionState;
  readonly names: readonly string[];
}

/** Reads batches of several partitions and drops repeats. Each query covers all partitions. */
export class Deduplicator {
  readonly #partitions = new Map<string, PartitionState>();
  readonly #hasDeadLetters = new Map<TopicName, boolean>();

  constructor(
    private readonly tx: Client,
    private readonly schema: ProjectionSchema,
    private readonly log: Pick<EventLog, 'mayRepeatLedger'>,
    private readonly sequences: NonNullable<Projection['sequences']> = {},
  ) {}

  /** Reads the next batch of each partition. @throws UnknownEventType */
  async read(batches: readonly Batch[]): Promise<readonly FreshBatch[]> {
    const readings = batches.map((batch) => {
      return { state: this.#stateOf(batch), incoming: readRecords(batch.topic, batch.records) };
    });
    const origins = readings.map(({ state, incoming }) => {
      const found: string[] = [];
      for (const record of incoming) {
        if (!('event' in record) || !needsMark(record.event, this.log)) continue;
        const origin = originOf(record.event);
        // Adjacent visits are mostly of the same spool.
        if (origin !== found.at(-1)) found.push(origin);
      }
      return { state, names: addNew(state.origins, found) };
    });
    const withoutNewest = readings
      .filter(({ incoming }) =>
        incoming.some((record) => 'event' in record && isSpooled(record.event)),
      )
      .map(({ state }) => state)
      .filter(({ newest }) => newest === undefined);
    const subjects = readings.map(({ state, incoming }) => {
      return { state, names: incoming.map(({ subject }) => subject) };
    });
    await Promise.all([
      this.#readMarks(origins.filter(({ names }) => names.length > 0)),
      this.#readNewest(withoutNewest),
      this.#readBlocked(subjects),
    ]);
    return readings.map(({ state, incoming }) => {
      const { topic, partition, marks, raised, blocked, broken, gaps, blocks } = state;
      const result = dropRepeats(incoming, marks, this.log, state.newest, blocks);
      state.newest = result.newest ?? state.newest;
      for (const record of incoming) if ('error' in record) broken.add(record.subject);
      for (const gap of result.skipped) {
        if (blocked.has(gap.subject) || broken.has(gap.subject)) continue;
        gaps.push({ topic, partition, ...gap });
      }
      for (const [origin, mark] of result.raised) {
        marks.set(origin, mark);
        raised.set(origin, mark);
      }
      return { fresh: result.fresh, raised, blocked, gaps, blocks };
    });
  }

  #stateOf({ topic, partition }: Batch): PartitionState {
    const name = `${topic}/${partition}`;
    const state = this.#partitions.get(name) ?? new PartitionState(topic, partition);
    this.#partitions.set(name, state);
    return state;
  }

  async #readMarks(lookups: readonly Lookup[]): Promise<void> {
    if (lookups.length === 0) return;
    const { tx, schema } = this;
    const queries = lookups.map(({ state: { topic, partition }, names }) => {
      return { topic, partition, origins: names };
    });
    const byTopic = [...groupBy(lookups, ({ state }) => state.topic)];
    const [marks, ...sequences] = await Promise.all([
      readHighWaterMarks(tx, schema, queries),
      ...byTopic.map(([topic, group]) => {
        const subjects = group.flatMap(({ names }) => names);
        return this.sequences[topic]?.(tx, schema, subjects);
      }),
    ]);
    lookups.forEach(({ state }, index) => {
      for (const [origin, mark] of marks[index] ?? []) state.marks.set(origin, mark);
    });
    byTopic.forEach(([, group], index) => {
      for (const { state, names } of group) {
        for (const origin of names) {
          const sequence = sequences[index]?.get(origin) ?? 0;
          if (sequence > (state.marks.get(origin)?.sequence ?? 0))
            state.marks.set(origin, { sequence, day: null });
        }
      }
    });
  }

  async #readNewest(states: readonly PartitionState[]): Promise<void> {
    if (states.length === 0) return;
    const days = await readNewestDays(this.tx, this.schema, states);
    states.forEach((state, index) => {
      state.newest = days[index] ?? null;
    });
  }

  async #readBlocked(subjects: readonly Lookup[]): Promise<void> {
    const { tx, schema } = this;
    await this.#checkDeadLetters(subjects.map(({ state }) => state.topic));
    const lookups = subjects
      .filter(({ state }) => this.#hasDeadLetters.get(state.topic))
      .map(({ state, names }) => ({ state, names: addNew(state.subjects, names) }));
    const byTopic = groupBy(lookups, ({ state }) => state.topic);
    const queries = Array.from(byTopic, async ([topic, group]) => {
      const { rows } = await tx.query<{ subject: string }>({
        name: `dead-letters-of-${schema}`,
        text: `SELECT DISTINCT subject FROM ${schema}.dead_letters
               WHERE topic = $1 AND subject = ANY ($2::text[])`,
        values: [topic, arrayLiteral(group.flatMap(({ names }) => names))],
      });
      const blocked = new Set(rows.map(({ subject }) => subject));
      for (const { state, names } of group) {
        for (const subject of names) if (blocked.has(subject)) state.blocked.add(subject);
      }
    });
    await Promise.all(queries);
  }

  /** The result stays valid, because no other transaction adds dead letters while this one locks the checkpoints. */
  async #checkDeadLetters(topics: readonly TopicName[]): Promise<void> {
    const unknown = [...new Set(topics)].filter((topic) => !this.#hasDeadLetters.has(topic));
    if (unknown.length === 0) return;
    const { rows } = await this.tx.query<{ topic: TopicName; has: boolean }>({
      name: `any-dead-letter-of-${this.schema}`,
      text: `SELECT topic, EXISTS (SELECT FROM ${this.schema}.dead_letters d WHERE d.topic = t.topic) AS has
             FROM unnest($1::text[]) AS t (topic)`,
      values: [unknown],
    });
    for (const { topic, has } of rows) this.#hasDeadLetters.set(topic, has);
  }
}
