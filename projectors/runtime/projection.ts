import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import type { TopicName } from '../../schemas/events/topics.js';
import type { Client } from '../../ops/platform/postgres/pool.js';
import type { ProjectionName, ProjectionSchema } from './names.js';

/** A read model: tables that are a fold of some topics, and may be thrown away and built again. */
export interface Projection {
  readonly name: ProjectionName;
  readonly topics: readonly TopicName[];
  /**
   * Folds events into the rows of `schema`, in set-based statements. The events are of one
   * partition, in order, without repeats. It depends on the events alone (no clock, no random), and
   * the rows must come out the same wherever one batch ends and the next begins.
   *
   * What it throws is put down to the events: they are tried again in halves until the ones at
   * fault are found. Errors that no event can be blamed for are recognised by `isPoison`.
   */
  apply(tx: Client, schema: ProjectionSchema, events: readonly LinklogEvent[]): Promise<void>;
}
