import type { EventLog } from '../../ops/platform/event-log/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { readCheckpoints } from './checkpoints.js';
import { liveSchema, type ProjectionName } from './names.js';
import type { Projection } from './projection.js';

export interface ProjectionStatus {
  readonly name: ProjectionName;
  /** Records of its topics that it has not handled yet. */
  readonly lag: number;
  /** Records that could not be read or applied. */
  readonly deadLetters: number;
  /** Events that wait behind a dead letter of their subject. */
  readonly parked: number;
}

/** How far a live projection is behind the log, and what it has set aside. */
export const statusOf = async (
  pool: Pool,
  log: EventLog,
  projection: Projection,
): Promise<ProjectionStatus> => {
  const schema = liveSchema(projection.name);
  // Before the log's ends, so that none of them is behind its checkpoint.
  const checkpoints = await readCheckpoints(pool, schema);
  const letters = await pool.query<{ deadLetters: number; parked: number }>(
    `SELECT count(error) AS "deadLetters", count(*) - count(error) AS parked
     FROM ${schema}.dead_letters`,
  );
  let lag = 0;
  for (const topic of projection.topics) {
    for (const range of await log.ranges(topic)) {
      const known = checkpoints.find(
        (checkpoint) => checkpoint.topic === topic && checkpoint.partition === range.partition,
      );
      lag += range.next - (known?.logId === log.logId(topic) ? known.offset : range.first);
    }
  }
  const { deadLetters, parked } = letters.rows[0] ?? { deadLetters: 0, parked: 0 };
  return { name: projection.name, lag, deadLetters, parked };
};
