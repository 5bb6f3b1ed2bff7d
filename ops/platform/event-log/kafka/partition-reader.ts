import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { topicNames, type TopicName } from '../../../../schemas/events/topics.js';
import type { Batch, LogRecord } from '../port.js';
import type { ClusterAdmin } from './admin.js';
import { recordOf } from './records.js';
import { topicIn } from './topics.js';
import type { KafkaSettings } from './settings.js';

/** Bytes of one partition in one answer: what a reading holds in memory is twice this at most. */
const maxBytesPerPartition = 1_048_576;
/** Records in a piece. */
const pieceSize = 1_000;
const maxWaitTimeInMs = 100;
/** How long a reading waits for records that the partition is known to hold. */
const stalledMs = 30_000;
const idleMs = 60_000;
const joinWithinMs = 30_000;
const firstPauseMs = 100;

/** One reading of a partition, from the consumer's side. */
interface Reading {
  next: number;
  readonly to: number;
  readonly pieces: Batch[];
  failure: Error | undefined;
  wake: () => void;
}

/** Of the group that has all partitions. */
interface Membership {
  readonly consumer: Consumer;
  readonly groupId: string;
}

export interface PartitionReader {
  read(topic: TopicName, partition: number, from: number, to: number): AsyncGenerator<Batch>;
  close(): Promise<void>;
}

/**
 * Reads partitions from one offset to another. kafkajs has no consumer without a group: so one
 * consumer, alone in a group of its own, has all partitions, each of them paused but while it is
 * read. It is made when it is needed, and left a minute after.
 */
export const createPartitionReader = (
  kafka: Kafka,
  settings: KafkaSettings,
  admin: ClusterAdmin,
): PartitionReader => {
  const readings = new Map<string, Reading>();
  const queues = new Map<string, Promise<void>>();
  let active = 0;
  let idle: NodeJS.Timeout | undefined;
  let running: Promise<Membership> | undefined;
  let closed = false;
  const nameOf = (topic: string, partition: number): string => `${topic}/${partition}`;

  /** Goes on with a reading from where it is. */
  const resume = (
    consumer: Consumer,
    topic: string,
    partition: number,
    { next }: Reading,
  ): void => {
    consumer.seek({ topic, partition, offset: String(next) });
    consumer.resume([{ topic, partitions: [partition] }]);
  };

  const fail = (error: Error): void => {
    for (const reading of readings.values()) {
      reading.failure = error;
      reading.wake();
    }
  };

  const take = (consumer: Consumer, { batch }: EachBatchPayload): Promise<void> => {
    const { topic, partition } = batch;
    const reading = readings.get(nameOf(topic, partition));
    const pause = (): void => {
      consumer.pause([{ topic, partitions: [partition] }]);
    };
    if (!reading) {
      pause();
      return Promise.resolve();
    }
    const records: LogRecord[] = [];
    for (const message of batch.messages) {
      const record = recordOf(message);
      if (record.offset < reading.next) continue;
      if (record.offset >= reading.to) break;
      records.push(record);
    }
    const [first] = records;
    if (!first) {
      // Fetched before the seek took hold.
      if (reading.next < reading.to) resume(consumer, topic, partition, reading);
      return Promise.resolve();
    }
    if (first.offset !== reading.next) {
      reading.failure = new Error(`${topic}/${partition} holds nothing at ${reading.next}`);
    } else {
      reading.next += records.length;
      for (let from = 0; from < records.length; from += pieceSize) {
        reading.pieces.push({
          topic: topic.slice(settings.prefix.length) as TopicName,
          partition,
          records: records.slice(from, from + pieceSize),
        });
      }
    }
    // It is resumed when what was read is taken, and goes on from there.
    pause();
    reading.wake();
    return Promise.resolve();
  };

  /** Joins a new group; rejects when that fails. When it is lost later, another one is joined. */
  const join = async (): Promise<Membership> => {
    const groupId = `${settings.prefix}linklog-reader-${randomUUID()}`;
    const consumer = kafka.consumer({
      groupId,
      maxWaitTimeInMs,
      maxBytesPerPartition,
      allowAutoTopicCreation: false,
      retry: { restartOnFailure: () => Promise.resolve(false) },
    });
    const joined = new Promise<void>((resolve, reject) => {
      let isMember = false;
      consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
        for (const [topic, partitions] of Object.entries(payload.memberAssignment)) {
          consumer.pause([{ topic, partitions }]);
          for (const partition of partitions) {
            // A group that was joined anew knows nothing of the readings.
            const reading = readings.get(nameOf(topic, partition));
            if (reading && reading.next < reading.to) resume(consumer, topic, partition, reading);
          }
        }
        isMember = true;
        resolve();
      });
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        reject(payload.error);
        if (!isMember) return;
        running = undefined;
        if (readings.size > 0) membership().catch(fail);
      });
    });
    await consumer.connect();
    const topics = topicNames.map((topic) => topicIn(settings, topic));
    await consumer.subscribe({ topics, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: (payload) => take(consumer, payload),
    });
    await joined;
    return { consumer, groupId };
  };

  /** Joins, again and again: a new coordinator needs a moment, a broker that restarts some seconds. */
  const joinInTime = async (): Promise<Membership> => {
    const deadline = performance.now() + joinWithinMs;
    for (let pauseMs = firstPauseMs; ; pauseMs *= 2) {
      try {
        return await join();
      } catch (error) {
        if (closed || performance.now() + pauseMs > deadline) throw error;
        await sleep(pauseMs);
      }
    }
  };

  const membership = (): Promise<Membership> => {
    running ??= joinInTime().catch((error: unknown) => {
      running = undefined;
      throw error;
    });
    return running;
  };

  const leave = async (): Promise<void> => {
    clearTimeout(idle);
    const leaving = running;
    running = undefined;
    if (!leaving) return;
    const { consumer, groupId } = await leaving;
    await consumer.disconnect();
    await admin.ask((asked) => asked.deleteGroups([groupId]));
  };

  /** One reading of a partition at a time: it has one place in the group. */
  const acquire = async (name: string): Promise<() => void> => {
    const before = queues.get(name);
    let free = (): void => undefined;
    const mine = new Promise<void>((resolve) => {
      free = resolve;
    });
    const queue = (before ?? Promise.resolve()).then(() => mine);
    queues.set(name, queue);
    await before;
    return () => {
      if (queues.get(name) === queue) queues.delete(name);
      free();
    };
  };

  const untilWoken = (reading: Reading): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`Kafka gave no record in ${stalledMs / 1_000} s, though it has some`));
      }, stalledMs);
      reading.wake = () => {
        clearTimeout(timer);
        resolve();
      };
      if (reading.pieces.length > 0 || reading.failure !== undefined) reading.wake();
    });

  async function* read(
    topic: TopicName,
    partition: number,
    from: number,
    to: number,
  ): AsyncGenerator<Batch> {
    if (from >= to) return;
    const topicName = topicIn(settings, topic);
    const name = nameOf(topicName, partition);
    const release = await acquire(name);
    active += 1;
    clearTimeout(idle);
    const reading: Reading = {
      next: from,
      to,
      pieces: [],
      failure: undefined,
      wake: () => undefined,
    };
    try {
      const goOn = async (): Promise<void> => {
        resume((await membership()).consumer, topicName, partition, reading);
      };
      readings.set(name, reading);
      try {
        let taken = from;
        await goOn();
        while (taken < to) {
          await untilWoken(reading);
          reading.wake = () => undefined;
          const piece = reading.pieces.shift();
          if (piece) {
            taken += piece.records.length;
            // More is fetched while the last piece is worked on.
            if (reading.pieces.length === 0 && reading.next < to) await goOn();
            yield piece;
          } else if (reading.failure !== undefined) throw reading.failure;
        }
      } finally {
        // What still comes of it is paused then.
        readings.delete(name);
      }
    } finally {
      active -= 1;
      release();
      if (active === 0) {
        idle = setTimeout(() => {
          leave().catch(() => {
            // The cluster is away: it forgets a group whose last member is gone by itself.
          });
        }, idleMs);
        idle.unref();
      }
    }
  }

  return {
    read,
    close() {
      closed = true;
      return leave();
    },
  };
};
