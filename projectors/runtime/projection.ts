import type { RecordOffset } from '../../ops/event-log/port.js';
import type { Client } from '../../ops/platform/postgres/pool.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import type { TopicName } from '../../schemas/events/topics.js';

export type ReadSequences = (
  tx: Client,
  schema: ProjectionSchema,
  subjects: readonly string[],
) => Promise<ReadonlyMap<string, number>>;

/**
 * A read model: tables that are a fold of topics and can be rebuilt.
 *
 * Of a large batch, only the `Change` of each event is in memory, because thousands of events would outlive the young
 * generation of the GC, which copies them.
 */
export interface Projection<Change = unknown> {
  readonly name: string;
  readonly topics: readonly TopicName[];
  /** How long events may wait for a larger batch (ms). */
  readonly mayWaitMs?: number;
  /** Topics whose missing events it records. One projection checks each topic. */
  readonly checksSequencesOf?: readonly TopicName[];
  /** Returns the change for `apply`; `null` if the event changes nothing. */
  toChange(event: LinklogEvent, recordOffset: RecordOffset): Change | null;
  /**
   * Folds changes of one partition, in order and without repeats, into the rows of `schema` with set-based statements.
   * The rows must depend on the changes only, regardless of the boundaries of batches.
   *
   * After an error of `isPoison`, the faulty events are found by bisection. Any other error fails the batch.
   */
  apply(
    tx: Client,
    schema: ProjectionSchema,
    changes: readonly Change[],
    partition: number,
  ): Promise<void>;
  /** Marks live rows that may differ from a rebuild, because a redrive applied these changes after later ones. */
  redriven?(
    tx: Client,
    schema: ProjectionSchema,
    changes: readonly Change[],
    partition: number,
  ): Promise<void>;
  /**
   * Reads sequences of topics from the rows, so that high-water marks are stored only for dead letters. A repeat whose
   * sequence is not in the rows must change nothing.
   */
  readonly sequences?: Readonly<Partial<Record<TopicName, ReadSequences>>>;
}

/** A PostgreSQL schema with rows, checkpoints, high-water marks and dead letters. `pg_temp` is private to a session. */
export type ProjectionSchema = `projection_${string}` | typeof archiveSchema | 'pg_temp';

/** The archive has no read model, but stores its progress in the same tables. It is the group of its readers, too. */
export const archiveSchema = 'archive';

export const liveSchema = (name: string) => `projection_${name}` as const;
export const nextSchema = (name: string) => `projection_${name}_next` as const;
export const previousSchema = (name: string) => `projection_${name}_previous` as const;
