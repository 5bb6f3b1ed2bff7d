import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import type { TopicName } from '../../../../schemas/events/topics.js';
import type { Logger } from '../../logging.js';
import {
  checkPosition,
  ForeignPosition,
  PositionMoved,
  type PartitionRange,
  type Position,
  type SubscribeOptions,
  type Subscription,
} from '../port.js';
import { recordOf } from './records.js';
import type { KafkaSettings } from './settings.js';
import { topicIn } from './topics.js';

const firstPauseMs = 50;
const longestPauseMs = 5_000;
/** A member that is not heard of for so long is gone, and its partitions are given to others. */
const sessionTimeout = 6_000;
const heartbeatInterval = 2_000;
/**
 * How long a fetch waits for records; a partition that is resumed waits for it, and so does the end.
 * Each process that follows a topic asks anew after it, less often where nothing ever happens
 * (`waitLongerWhileQuiet`).
 */
const maxWaitTimeInMs = 1_000;
const maxBytesPerPartition = 1_048_576;
/** More than the longest fetch, which the end waits for. */
const disconnectMs = 4_000;

interface Context {
  readonly kafka: Kafka;
  readonly settings: KafkaSettings;
  readonly logger: Logger;
  readonly logId: (topic: TopicName) => string;
  readonly ranges: (topic: TopicName) => Promise<readonly PartitionRange[]>;
  /** Resolves when the cluster is known and its topics are as they must be. */
  readonly ready: Promise<void>;
}

/** What is known of a partition that this member has. */
interface Cursor {
  /** The offset that is due; `null`: to be asked of the reader. */
  offset: number | null;
  pauseMs: number;
}

/**
 * Follows topics as a member of a group. Kafka's own offsets are not used: each partition begins at
 * the reader's checkpoint, and a batch is handled only if it begins exactly at what is due, else the
 * consumer seeks there. So what kafkajs does behind our back (it resets an offset that is out of
 * range, and fetches from a default before a seek takes hold) can neither skip nor repeat a record.
 */
export const startKafkaSubscription = (
  options: SubscribeOptions,
  context: Context,
): Subscription => {
  const { kafka, settings, logger } = context;
  const maxBatch = options.maxBatch ?? 1_000;
  const groupId = `${settings.prefix}linklog-${options.group}`;
  const names = new Map(options.topics.map((topic) => [topicIn(settings, topic), topic]));
  const stopped = new AbortController();
  const isStopped = (): boolean => stopped.signal.aborted;
  const stopping = new Promise<void>((resolve) => {
    stopped.signal.addEventListener('abort', () => {
      resolve();
    });
  });
  const cursors = new Map<string, Cursor>();
  const handling = new Set<Promise<void>>();
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => undefined); // Raced against below, or after the end of no concern.

  const topicOf = (name: string): TopicName => {
    const topic = names.get(name);
    if (topic === undefined) throw new Error(`Kafka gave records of ${name}, unasked`);
    return topic;
  };

  const cursorOf = (name: string, partition: number): Cursor => {
    const place = `${name}/${partition}`;
    const known = cursors.get(place);
    if (known) return known;
    const cursor: Cursor = { offset: null, pauseMs: firstPauseMs };
    cursors.set(place, cursor);
    return cursor;
  };

  /** Where the reader stands, if the log has that; else at the log's first record. */
  const dueOf = (
    topic: TopicName,
    partition: number,
    position: Position | null,
    ranges: readonly PartitionRange[],
  ): number => {
    const range = ranges.find((known) => known.partition === partition);
    if (!range) throw new RangeError(`${topic} has no partition ${partition}`);
    if (position) checkPosition(topic, range, context.logId(topic), position);
    return position?.offset ?? range.first;
  };

  /** Asks the reader where it stands, then the log for its ends: see `checkPosition`. */
  const locate = async (cursor: Cursor, topic: TopicName, partition: number): Promise<number> => {
    const position = await options.position(topic, partition);
    cursor.offset = dueOf(topic, partition, position, await context.ranges(topic));
    return cursor.offset;
  };

  /** Leaves a partition alone for a while, then goes on from the reader's checkpoint. */
  const rest = (
    consumer: Consumer,
    cursor: Cursor,
    name: string,
    partition: number,
    err: unknown,
  ): void => {
    if (err instanceof ForeignPosition) {
      fail(err);
      return;
    }
    const details = { err, group: options.group, topic: name, partition };
    if (err instanceof PositionMoved) logger.debug(details, 'the checkpoint was moved');
    else logger.warn(details, 'a batch failed; trying again');
    const place = [{ topic: name, partitions: [partition] }];
    consumer.pause(place);
    cursor.offset = null;
    const { pauseMs } = cursor;
    cursor.pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    const resume = async (): Promise<void> => {
      await sleep(pauseMs, undefined, { signal: stopped.signal });
      try {
        const offset = await locate(cursor, topicOf(name), partition);
        consumer.seek({ topic: name, partition, offset: String(offset) });
        consumer.resume(place);
      } catch (error) {
        rest(consumer, cursor, name, partition, error);
      }
    };
    resume().catch((error: unknown) => {
      if (!isStopped()) fail(error);
    });
  };

  const handleBatch = async (consumer: Consumer, payload: EachBatchPayload): Promise<void> => {
    const { batch } = payload;
    const { topic: name, partition } = batch;
    const topic = topicOf(name);
    const cursor = cursorOf(name, partition);
    const isDone = (): boolean => isStopped() || !payload.isRunning() || payload.isStale();
    // A slow batch is no reason to be thought dead. What it fails of, the next fetch fails of too.
    const beating = setInterval(() => {
      payload.heartbeat().catch((err: unknown) => {
        logger.debug({ err, group: options.group }, 'a heartbeat failed');
      });
    }, heartbeatInterval);
    try {
      const due = cursor.offset ?? (await locate(cursor, topic, partition));
      if (Number(batch.messages[0]?.offset) !== due) {
        // Not where we stand: Kafka's default before the first seek, or after one out of range.
        const offset = await locate(cursor, topic, partition);
        if (Number(batch.messages[0]?.offset) !== offset) {
          consumer.seek({ topic: name, partition, offset: String(offset) });
          return;
        }
      }
      for (let from = 0; from < batch.messages.length && !isDone(); from += maxBatch) {
        const records = batch.messages.slice(from, from + maxBatch).map(recordOf);
        const last = records.at(-1);
        if (!last) break;
        await options.handle({ topic, partition, records });
        cursor.offset = last.offset + 1;
        cursor.pauseMs = firstPauseMs;
        payload.resolveOffset(String(last.offset));
      }
    } catch (error) {
      rest(consumer, cursor, name, partition, error);
    } finally {
      clearInterval(beating);
    }
  };

  /** Seeks all that the group has given to this member, so that nothing is fetched in vain. */
  const seekAll = async (
    consumer: Consumer,
    assignment: Readonly<Record<string, readonly number[]>>,
  ): Promise<void> => {
    for (const [name, partitions] of Object.entries(assignment)) {
      const topic = topicOf(name);
      const asked = partitions.map(async (partition) => ({
        partition,
        cursor: cursorOf(name, partition),
        position: await options.position(topic, partition),
      }));
      const positions = await Promise.all(asked);
      const ranges = await context.ranges(topic);
      if (isStopped()) return;
      for (const { partition, cursor, position } of positions) {
        cursor.offset = dueOf(topic, partition, position, ranges);
        consumer.seek({ topic: name, partition, offset: String(cursor.offset) });
      }
    }
  };

  /** A consumer's life; resolves or rejects when it is over and another one is to be made. */
  const live = async (): Promise<void> => {
    const consumer = kafka.consumer({
      groupId,
      sessionTimeout,
      heartbeatInterval,
      maxWaitTimeInMs,
      maxBytesPerPartition,
      allowAutoTopicCreation: false,
      retry: { restartOnFailure: () => Promise.resolve(false) },
    });
    let crash: (error: unknown) => void = () => undefined;
    const crashed = new Promise<never>((_, reject) => {
      crash = reject;
    });
    crashed.catch(() => undefined); // Raced against below.
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      crash(payload.error);
    });
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      cursors.clear();
      seekAll(consumer, payload.memberAssignment).catch((error: unknown) => {
        if (error instanceof ForeignPosition) fail(error);
        // PostgreSQL or Kafka is away: each partition is located at its first batch.
        else logger.debug({ err: error, group: options.group }, 'checkpoints cannot be read');
      });
    });
    try {
      const run = async (): Promise<void> => {
        await consumer.connect();
        await consumer.subscribe({ topics: [...names.keys()], fromBeginning: true });
        await consumer.run({
          autoCommit: false,
          eachBatchAutoResolve: false,
          eachBatch: async (payload) => {
            const work = handleBatch(consumer, payload);
            handling.add(work);
            await work.finally(() => handling.delete(work));
          },
        });
      };
      await Promise.race([run(), crashed, failed, stopping]);
      await Promise.race([crashed, failed, stopping]);
    } finally {
      await Promise.all(handling);
      const disconnected = consumer.disconnect().catch((err: unknown) => {
        logger.debug({ err, group: options.group }, 'a consumer could not leave its group');
      });
      // A cluster that is away does not answer; the group forgets the member by itself.
      await Promise.race([disconnected, sleep(disconnectMs)]);
    }
  };

  const run = async (): Promise<void> => {
    await Promise.race([context.ready, stopping]);
    let pauseMs = firstPauseMs;
    while (!isStopped()) {
      const begun = performance.now();
      try {
        await live();
      } catch (error) {
        if (error instanceof ForeignPosition) throw error;
        if (performance.now() - begun > longestPauseMs) pauseMs = firstPauseMs;
        logger.warn({ err: error, group: options.group }, 'the log cannot be read; trying again');
        // Cut short when it is stopped; that is its only failure, and the loop sees it by itself.
        await sleep(pauseMs, undefined, { signal: stopped.signal }).catch(() => undefined);
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      }
    }
  };

  const done = run();
  // Whoever awaits `done` hears of it; nobody has to.
  done.catch((error: unknown) => {
    logger.error({ err: error, group: options.group }, 'the subscription ended');
  });

  return {
    done,
    async stop() {
      stopped.abort();
      await done.catch((error: unknown) => {
        logger.debug({ err: error }, 'the subscription had ended before it was stopped');
      });
    },
  };
};
