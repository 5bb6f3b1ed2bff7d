import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import type { TopicName } from '../../../../schemas/events/topics.js';

export interface PlacedEvent {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: number;
  readonly event: LinklogEvent;
}

/**
 * Batches of a partition's events in the order of their offsets; a batch may be empty. The iterator of a batch parses an
 * event only when the merge reads it.
 */
export type PartitionEvents = AsyncIterable<Iterable<PlacedEvent>>;

/** Events of a chunk of the merged stream; few enough that the young-generation collector frees their text. */
const chunkSize = 200;

interface Cursor {
  readonly batches: AsyncIterator<Iterable<PlacedEvent>>;
  events: Iterator<PlacedEvent, unknown>;
  head: PlacedEvent;
}

const isBefore = (a: PlacedEvent, b: PlacedEvent): boolean => {
  if (a.event.time !== b.event.time) return a.event.time < b.event.time;
  if (a.topic !== b.topic) return a.topic < b.topic;
  return a.partition < b.partition;
};

const refill = async (cursor: Omit<Cursor, 'head'>): Promise<PlacedEvent | null> => {
  for (;;) {
    const batch = await cursor.batches.next();
    if (batch.done) return null;
    cursor.events = batch.value[Symbol.iterator]();
    const head = cursor.events.next();
    if (!head.done) return head.value;
  }
};

const insert = (cursors: Cursor[], cursor: Cursor): void => {
  let [low, high] = [0, cursors.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = cursors[middle];
    if (other && isBefore(other.head, cursor.head)) low = middle + 1;
    else high = middle;
  }
  cursors.splice(low, 0, cursor);
};

/**
 * Merges partitions into one stream by the time of their next events, then by topic name and partition.
 *
 * Each partition keeps its order, and the times of the stream ascend where those of its partitions do. An event that was
 * appended late (a spool was cut off, or a clock was wrong) follows the event before it in its partition.
 */
export async function* mergeInOrder(
  partitions: readonly PartitionEvents[],
): AsyncGenerator<readonly PlacedEvent[]> {
  const starts = partitions.map((partition) => ({
    batches: partition[Symbol.asyncIterator](),
    events: [].values() as Iterator<PlacedEvent, unknown>,
  }));
  try {
    const cursors: Cursor[] = [];
    const heads = await Promise.all(starts.map(refill));
    for (const [index, start] of starts.entries()) {
      const head = heads[index];
      if (head) insert(cursors, Object.assign(start, { head }));
    }
    let chunk: PlacedEvent[] = [];
    for (let cursor = cursors.shift(); cursor; cursor = cursors.shift()) {
      const [second] = cursors;
      let head: PlacedEvent | null = cursor.head;
      do {
        chunk.push(head);
        if (chunk.length === chunkSize) {
          yield chunk;
          chunk = [];
        }
        const next = cursor.events.next();
        head = next.done ? await refill(cursor) : next.value;
      } while (head && (!second || isBefore(head, second.head)));
      if (head) {
        cursor.head = head;
        insert(cursors, cursor);
      }
    }
    if (chunk.length > 0) yield chunk;
  } finally {
    for (const { batches } of starts) await batches.return?.();
  }
}
