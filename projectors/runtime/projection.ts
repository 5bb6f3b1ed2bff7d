import type { Client } from '../../ops/platform/postgres/pool.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import type { TopicName } from '../../schemas/events/topics.js';

/** Append new names: the index of a name is the number of its advisory locks. */
export const projectionNames = ['redirects', 'quotas', 'stats', 'history'] as const;

export type ProjectionName = (typeof projectionNames)[number];

export type ReadSequences = (
  tx: Client,
  schema: ProjectionSchema,
  subjects: readonly string[],
) => Promise<ReadonlyMap<string, number>>;

/**
 * A read model: tables that are a fold of some topics, and may be thrown away and built again.
 *
 * `Change` is what it keeps of an event. Of a large batch, changes are all that is in memory together: thousands of whole
 * events outlive the collector's young generation, and to copy them costs as much as to read them.
 */
export interface Projection<Change = unknown> {
  readonly name: ProjectionName;
  readonly topics: readonly TopicName[];
  /** Whether its rows are separate for each partition. */
  readonly isPartitioned?: boolean;
  /** How long events may wait for a larger batch under a steady load (ms). */
  readonly mayWaitMs?: number;
  /**
   * How many changes `apply` gets at once under a steady load; all of a batch by default. An answer to a request may wait
   * for the core as long as a statement takes, so projections apply such pieces one at a time.
   */
  readonly changesPerStatement?: number;
  /**
   * Topics whose sequences it checks: it keeps which events of a subject are missing, and how many visits of each spool
   * it has. One projection checks each topic.
   */
  readonly checksSequencesOf?: readonly TopicName[];
  /** What `apply` needs of an event; `null`: the event changes nothing. */
  toChange(event: LinklogEvent): Change | null;
  /**
   * Folds the changes of events, at least one, into the rows of `schema`, in set-based statements. The events are in the
   * order of their partitions, without repeats, and of one partition where the projection is partitioned. It depends on
   * the changes alone (no clock, no random), and the rows must come out the same wherever one batch ends and the next
   * begins.
   *
   * An error that `isPoison` recognises is blamed on the events: they are tried again in halves
   * until the faulty ones are found. Any other error fails the batch.
   */
  apply(
    tx: Client,
    schema: ProjectionSchema,
    changes: readonly Change[],
    partition: number,
  ): Promise<void>;
  /**
   * Notes in the live rows that these changes were applied by a redrive, after later ones of other subjects, where
   * that may have made a difference. A rebuild applies them in their order.
   */
  redriven?(
    tx: Client,
    schema: ProjectionSchema,
    changes: readonly Change[],
    partition: number,
  ): Promise<void>;
  /**
   * For topics of which the rows themselves tell what was applied: no high-water marks are kept of them,
   * but of events that were set aside. A repeat whose sequence the rows do not have must change nothing.
   */
  readonly sequences?: Readonly<Partial<Record<TopicName, ReadSequences>>>;
}

/** A PostgreSQL schema with rows, checkpoints, high-water marks and dead letters. `pg_temp` is private to a session. */
export type ProjectionSchema =
  `projection_${ProjectionName}${'' | '_next' | '_previous'}` | typeof archiveSchema | 'pg_temp';

/** The archive has no read model, but stores its progress in the same tables. */
export const archiveSchema = 'archive';

export const liveSchema = <Name extends ProjectionName>(name: Name) =>
  `projection_${name}` as const;

export const nextSchema = <Name extends ProjectionName>(name: Name) =>
  `projection_${name}_next` as const;

export const previousSchema = <Name extends ProjectionName>(name: Name) =>
  `projection_${name}_previous` as const;

/** The second number of a projection's advisory locks. */
export const lockNumber = (name: ProjectionName): number => projectionNames.indexOf(name);
