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

/** Where a reader stands in each partition: its checkpoints. */
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
  /** What was handled, in the order in which it was handled. */
  readonly received: readonly Received[];
  /** Their events' ids, likewise. */
  readonly ids: readonly string[];
  readonly subscription: Subscription;
  /** Resolves when the records have all been handled. */
  has(ids: readonly string[]): Promise<void>;
}

export interface ReaderOptions extends Partial<
  Pick<SubscribeOptions, 'group' | 'maxBatch' | 'mayWaitMs'>
> {
  readonly topics: readonly TopicName[];
  /** Where it begins and what it keeps as its checkpoint; empty: at the start of the log. */
  readonly positions: Positions;
  /** Says where it begins, if `positions` alone does not. */
  readonly position?: SubscribeOptions['position'];
  /** Runs before a batch counts as handled. */
  readonly handle?: (batch: Batch) => Promise<void>;
}

/** Follows a log as a projection does: handles a batch, then moves its checkpoint past it. */
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
        throw new Error('The subscription ended');
      });
      const all = eventually(`${wanted.length} records handled`, () =>
        wanted.every((id) => handled.has(id)),
      );
      await Promise.race([all, ended]);
    },
  };
};

/**
 * Appends one more record to every partition and waits until the reader has handled them. What was
 * appended before them and has not come by then never will: no time has to be waited out.
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
