import { readEvent } from '../../schemas/events/codec.js';
import { recordTimeOf } from '../../schemas/events/time.js';
import type { EventLog, PartitionRange, TopicPartition } from '../event-log/port.js';

/** The record time of the first readable event in a range (ms); `null` if there is none. */
const timeOfFirst = async (
  log: Pick<EventLog, 'read'>,
  { topic, partition }: TopicPartition,
  from: number,
  to: number,
): Promise<number | null> => {
  for await (const { records } of log.read(topic, partition, from, to)) {
    for (const { value } of records) {
      try {
        return recordTimeOf(readEvent(value));
      } catch {
        // A dead letter of the projections has no time.
        continue;
      }
    }
  }
  return null;
};

/** Records that are read to find one with a time. */
const probe = 10;

/**
 * Finds the first offset whose event has a record time or a later one, by bisection. Events of a partition are only
 * roughly in the order of these times, so some events near the result are on the wrong side of it.
 */
export const offsetOfTime = async (
  log: Pick<EventLog, 'read'>,
  known: TopicPartition,
  { first, next }: PartitionRange,
  time: number,
): Promise<number> => {
  let [low, high] = [first, next];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const found = await timeOfFirst(log, known, middle, Math.min(high, middle + probe));
    if (found !== null && found >= time) high = middle;
    else low = middle + 1;
  }
  return low;
};
