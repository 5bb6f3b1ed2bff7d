import type { EventLog } from '../ops/platform/event-log/port.js';
import type { Pool } from '../ops/platform/postgres/pool.js';
import type { TopicName } from '../schemas/events/topics.js';
import { projections } from './projections.js';
import { readCheckpoint } from './runtime/checkpoints.js';
import { liveSchema } from './runtime/names.js';
import { statusOf, type ProjectionStatus } from './runtime/status.js';

/** How far each projection is behind the log, in records, and what it has set aside. */
export const projectionStatus = (pool: Pool, log: EventLog): Promise<readonly ProjectionStatus[]> =>
  Promise.all(projections.map((projection) => statusOf(pool, log, projection)));

/** The offset below which every projection of a topic has applied one of its partitions. */
export const appliedThrough = async (
  pool: Pool,
  topic: TopicName,
  partition: number,
): Promise<number> => {
  const offsets = await Promise.all(
    projections
      .filter(({ topics }) => topics.includes(topic))
      .map(({ name }) => readCheckpoint(pool, liveSchema(name), topic, partition)),
  );
  return Math.min(...offsets.map((position) => position?.offset ?? 0));
};
