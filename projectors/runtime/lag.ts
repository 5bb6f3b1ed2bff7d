import { PositionMoved, type Delivery, type EventLog } from '../../ops/event-log/port.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { importIdOf } from '../../schemas/events/envelope.js';
import { millisecondsOf } from '../../schemas/events/time.js';
import type { TopicName } from '../../schemas/events/topics.js';
import { checkpointOf, readCheckpoints } from './checkpoints.js';
import type { ProjectionSchema } from './projection.js';
import { readRecord } from './read-record.js';

/** Returns the time of a batch's first event; `null` if its first record is broken, or a visit of an import. */
const timeOf = ({ topic, records }: Delivery): number | null => {
  const first = records.at(0);
  const read = first && readRecord(topic, first);
  if (!read || !('event' in read) || importIdOf(read.event.source) !== null) return null;
  return millisecondsOf(read.event.time);
};

/**
 * Tracks the batches that this process has received and not applied yet. Later records of the log are younger, so these
 * give the lag of the projection without a query, also while PostgreSQL is unavailable.
 */
export class LagTracker {
  readonly #times = new Map<string, number>();

  /** Runs `apply` and keeps the time of the batch until it succeeds. */
  async applying<Result>(batch: Delivery, apply: () => Promise<Result>): Promise<Result> {
    const key = `${batch.topic}/${batch.partition}`;
    this.#times.delete(key);
    const time = timeOf(batch);
    if (time !== null) this.#times.set(key, time);
    try {
      const result = await apply();
      this.#times.delete(key);
      return result;
    } catch (error) {
      // Another reader has applied the batch.
      if (error instanceof PositionMoved) this.#times.delete(key);
      throw error;
    }
  }

  /** The age of the oldest unapplied event in seconds; 0 if all are applied. */
  secondsBehind(now: number): number {
    const oldest = Math.min(now, ...this.#times.values());
    return (now - oldest) / 1_000;
  }
}

export interface ReaderLag {
  /** Records of its topics after its checkpoints. */
  readonly lag: number;
  /** Records that could not be read or applied. */
  readonly deadLetters: number;
  /** Events after a dead letter of their subject. */
  readonly parked: number;
}

export const readerLag = async (
  pool: Pool,
  log: EventLog,
  schema: ProjectionSchema,
  topics: readonly TopicName[],
): Promise<ReaderLag> => {
  // Read before the ends of the log, so that no checkpoint is past an end.
  const checkpoints = await readCheckpoints(pool, schema);
  const { rows } = await pool.query<{ deadLetters: number; parked: number }>(
    `SELECT count(error) AS "deadLetters", count(*) - count(error) AS parked
     FROM ${schema}.dead_letters`,
  );
  let lag = 0;
  for (const topic of topics) {
    for (const range of await log.ranges(topic)) {
      const known = checkpointOf(checkpoints, topic, range.partition);
      lag += range.next - (known?.logId === log.logId(topic) ? known.offset : range.first);
    }
  }
  const { deadLetters, parked } = rows[0] ?? { deadLetters: 0, parked: 0 };
  return { lag, deadLetters, parked };
};
