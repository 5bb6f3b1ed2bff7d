import { PositionMoved, type Batch } from '../../ops/platform/event-log/port.js';
import { readEvent } from '../../schemas/events/codec.js';

const partitionKey = ({ topic, partition }: Batch): string => `${topic}/${partition}`;

/** When its first record happened; `null` of one that cannot be read, which will be a dead letter. */
const timeOf = ({ records: [first] }: Batch): number | null => {
  if (!first) return null;
  try {
    return Date.parse(readEvent(first.value).time);
  } catch {
    // Applying it says why.
    return null;
  }
};

/**
 * The batches that this process was given for a projection and has not applied yet. What is behind
 * them in the log is younger, so they tell how long the projection is behind, without a query, and
 * also while PostgreSQL is away.
 */
export class LagTracker {
  readonly #times = new Map<string, number>();

  /** Applies a batch, and takes down that it was applied. */
  async applying<Result>(batch: Batch, apply: () => Promise<Result>): Promise<Result> {
    const key = partitionKey(batch);
    const time = timeOf(batch);
    if (time === null) this.#times.delete(key);
    else this.#times.set(key, time);
    try {
      const result = await apply();
      this.#times.delete(key);
      return result;
    } catch (error) {
      // Another reader has it.
      if (error instanceof PositionMoved) this.#times.delete(key);
      throw error;
    }
  }

  /** The age of the oldest event that is not applied, in seconds; 0 where there is none. */
  secondsBehind(now: number): number {
    const oldest = Math.min(now, ...this.#times.values());
    return (now - oldest) / 1_000;
  }
}
