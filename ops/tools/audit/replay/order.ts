import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import type { TopicName } from '../../../../schemas/events/topics.js';

/** An event, and where the log has it. */
export interface PlacedEvent {
  readonly topic: TopicName;
  readonly partition: number;
  readonly offset: number;
  readonly event: LinklogEvent;
}

/**
 * One partition's events in the order of their offsets, a batch at a time; a batch may be empty. The
 * iterator of a batch parses each event only when the merge asks for it.
 */
export type PartitionEvents = AsyncIterable<Iterable<PlacedEvent>>;

/** Events in a piece of the merged stream: so few that their text is collected as young garbage. */
const pieceSize = 200;

interface Cursor {
  readonly batches: AsyncIterator<Iterable<PlacedEvent>>;
  events: Iterator<PlacedEvent, unknown>;
  /** The next event of the partition. */
  head: PlacedEvent;
}

const isBefore = (a: PlacedEvent, b: PlacedEvent): boolean => {
  if (a.event.time !== b.event.time) return a.event.time < b.event.time;
  if (a.topic !== b.topic) return a.topic < b.topic;
  return a.partition < b.partition;
};

/** The first event of the next batch that has one. */
const refill = async (cursor: Omit<Cursor, 'head'>): Promise<PlacedEvent | null> => {
  for (;;) {
    const batch = await cursor.batches.next();
    if (batch.done) return null;
    cursor.events = batch.value[Symbol.iterator]();
    const head = cursor.events.next();
    if (!head.done) return head.value;
  }
};

/** Inserts a cursor by its head into cursors that are sorted by theirs. */
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
 * Merges partitions into one stream. Of the partitions' next events, the one with the earliest time
 * comes first. Equal times are ordered by the name of the topic, then by the partition.
 *
 * So each partition keeps its order, and the stream's times ascend where those of its partitions do. An
 * event may reach the log after later ones of its partition: its spool was cut off, or a clock was
 * wrong. It comes right after these, as if it had the latest time before it in its partition.
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
    let piece: PlacedEvent[] = [];
    for (let cursor = cursors.shift(); cursor; cursor = cursors.shift()) {
      const [second] = cursors;
      let head: PlacedEvent | null = cursor.head;
      do {
        piece.push(head);
        if (piece.length === pieceSize) {
          yield piece;
          piece = [];
        }
        const next = cursor.events.next();
        head = next.done ? await refill(cursor) : next.value;
      } while (head && (!second || isBefore(head, second.head)));
      if (head) {
        cursor.head = head;
        insert(cursors, cursor);
      }
    }
    if (piece.length > 0) yield piece;
  } finally {
    for (const { batches } of starts) await batches.return?.();
  }
}
