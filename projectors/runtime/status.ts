import type { EventLog } from '../../ops/platform/event-log/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { TopicName } from '../../schemas/events/topics.js';
import { readCheckpoints } from './checkpoints.js';
import { liveSchema, type ProjectionName, type ProjectionSchema } from './names.js';
import type { Projection } from './projection.js';

/** How far a reader of the log is, from its checkpoints. */
export interface ReaderLag {
  /** Records of its topics that it has not handled yet. */
  readonly lag: number;
  /** Records that could not be read or applied. */
  readonly deadLetters: number;
  /** Events that wait behind a dead letter of their subject. */
  readonly parked: number;
}

export interface ProjectionStatus extends ReaderLag {
  readonly name: ProjectionName;
}

/** How far a schema's reader is behind the log, and what it has set aside. */
export const readerLag = async (
  pool: Pool,
  log: EventLog,
  schema: ProjectionSchema,
  topics: readonly TopicName[],
): Promise<ReaderLag> => {
  // Before the log's ends, so that none of them is behind its checkpoint.
  const checkpoints = await readCheckpoints(pool, schema);
  const letters = await pool.query<{ deadLetters: number; parked: number }>(
    `SELECT count(error) AS "deadLetters", count(*) - count(error) AS parked
     FROM ${schema}.dead_letters`,
  );
  let lag = 0;
  for (const topic of topics) {
    for (const range of await log.ranges(topic)) {
      const known = checkpoints.find(
        (checkpoint) => checkpoint.topic === topic && checkpoint.partition === range.partition,
      );
      lag += range.next - (known?.logId === log.logId(topic) ? known.offset : range.first);
    }
  }
  const { deadLetters, parked } = letters.rows[0] ?? { deadLetters: 0, parked: 0 };
  return { lag, deadLetters, parked };
};

/** How far a live projection is behind the log, and what it has set aside. */
export const statusOf = async (
  pool: Pool,
  log: EventLog,
  { name, topics }: Projection,
): Promise<ProjectionStatus> => ({
  name,
  ...(await readerLag(pool, log, liveSchema(name), topics)),
});
