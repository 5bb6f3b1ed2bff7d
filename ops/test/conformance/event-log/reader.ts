import { randomUUID } from 'node:crypto';
import type { TopicName } from '../../../../schemas/events/topics.js';
import { eventually } from '../../support/waiting.js';
import type {
  Batch,
  EventLog,
  LogRecord,
  Position,
  SubscribeOptions,
  Subscription,
} from '../../../event-log/port.js';
import { codeIn, eventIn, eventIdOf, partitionCount, type ManyPartitions } from './events.js';
import { recordOf } from '../../../../schemas/testing/events.js';

/** The checkpoints of a reader. */
export class Positions {
  readonly #positions = new Map<string, Position>();

  static async atEnd(log: EventLog, names: readonly TopicName[]): Promise<Positions> {
    const ends = new Positions();
    for (const topic of names) {
      for (const { partition, next } of await log.ranges(topic)) {
        ends.set(topic, partition, { logId: log.logId(topic), offset: next });
      }
    }
    return ends;
  }

  get(topic: TopicName, partition: number): Position | null {
    return this.#positions.get(`${topic}/${partition}`) ?? null;
  }

  set(topic: TopicName, partition: number, position: Position): void {
    this.#positions.set(`${topic}/${partition}`, position);
  }
}

export interface Received extends LogRecord {
  readonly topic: TopicName;
  readonly partition: number;
}

export interface LogReader {
  /** The handled records, in order. */
  readonly received: readonly Received[];
  /** The ids of their events. */
  readonly ids: readonly string[];
  readonly subscription: Subscription;
  /** Resolves when the records have all been handled. */
  has(ids: readonly string[]): Promise<void>;
}

export interface ReaderOptions extends Partial<
  Pick<SubscribeOptions, 'group' | 'maxBatch' | 'mayWaitMs'>
> {
  readonly topics: readonly TopicName[];
  /** The start, and the checkpoints; empty: the start of the log. */
  readonly positions: Positions;
  /** Replaces the read of `positions`. */
  readonly position?: SubscribeOptions['position'];
  /** Runs before a batch counts as handled. */
  readonly handle?: (batch: Batch) => Promise<void>;
}

/** Reads a log like a projection: handles a batch, then moves the checkpoint. */
export const startReader = (
  log: Pick<EventLog, 'subscribe' | 'logId'>,
  options: ReaderOptions,
): LogReader => {
  const { positions, handle } = options;
  const received: Received[] = [];
  const ids: string[] = [];
  const handled = new Set<string>();
  const subscription = log.subscribe({
    group: options.group ?? `conformance-${randomUUID()}`,
    topics: options.topics,
    ...(options.maxBatch !== undefined && { maxBatch: options.maxBatch }),
    ...(options.mayWaitMs !== undefined && { mayWaitMs: options.mayWaitMs }),
    position:
      options.position ?? ((topic, partition) => Promise.resolve(positions.get(topic, partition))),
    handle: async ({ topic, partition, records: delivered }) => {
      const records = delivered.slice();
      await handle?.({ topic, partition, records });
      for (const record of records) {
        received.push({ ...record, topic, partition });
        ids.push(eventIdOf(record));
        handled.add(eventIdOf(record));
      }
      const offset = (records.at(-1)?.offset ?? 0) + 1;
      positions.set(topic, partition, { logId: log.logId(topic), offset });
    },
  });
  return {
    received,
    ids,
    subscription,
    async has(wanted) {
      const ended = subscription.done.then(() => {
        throw new Error('the subscription ended');
      });
      const handledAll = eventually(`${wanted.length} records handled`, () =>
        wanted.every((id) => handled.has(id)),
      );
      await Promise.race([handledAll, ended]);
    },
  };
};

/**
 * Appends a record to every partition and waits until the reader has handled them. Then all earlier records have been
 * handled, or are lost.
 */
export const fence = async (
  log: Pick<EventLog, 'append'>,
  reader: LogReader,
  names: readonly ManyPartitions[],
): Promise<ReadonlySet<string>> => {
  const ids: string[] = [];
  for (const topic of names) {
    const records = Array.from({ length: partitionCount(topic) }, (_, partition) =>
      recordOf(eventIn(topic, codeIn(topic, partition))),
    );
    await log.append(topic, records);
    ids.push(...records.map(eventIdOf));
  }
  await reader.has(ids);
  return new Set(ids);
};
