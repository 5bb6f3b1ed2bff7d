import { randomUUID } from 'node:crypto';
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { topicNames, type TopicName } from '../../../schemas/events/topics.js';
import { deferred, WakeUp } from '../../platform/concurrency/deferred.js';
import { retry } from '../../platform/concurrency/retry.js';
import type { Batch } from '../port.js';
import type { ClusterAdmin } from './admin.js';
import { createGroupMember, logRecordOf, type GroupMember } from './group-member.js';
import type { KafkaSettings } from './settings.js';
import { topicIn } from './topics.js';

/** Records of a batch. */
const batchSize = 1_000;
const maxWaitTimeInMs = 100;
/**
 * Records of a read that wait in memory, besides those of one fetch. A paused consumer polls only every 100 ms, so a read
 * that paused after each fetch would return 8,000 records a second.
 */
const readAhead = 5_000;
/** How long a read waits for existing records (ms). */
const stalledMs = 30_000;
const idleMs = 60_000;
const joinWithinMs = 30_000;
const pauses = { firstMs: 100, longestMs: 5_000 };

class PartitionRead {
  readonly #batches: Batch[] = [];
  readonly #news = new WakeUp();
  #failure: Error | null = null;
  #waiting = 0;
  /** Whether the consumer is fetching the partition. */
  isFetching = false;

  constructor(
    readonly topic: TopicName,
    readonly partition: number,
    /** The next offset to fetch. */
    public next: number,
    readonly to: number,
  ) {}

  /** Whether to fetch. */
  get wantsMore(): boolean {
    return this.#waiting < readAhead && this.next < this.to;
  }

  fail(error: Error): void {
    this.#failure = error;
    this.#news.wake();
  }

  /** Adds the expected records of a fetch. */
  add({ messages }: EachBatchPayload['batch']): void {
    const { topic, partition, next, to } = this;
    const records = messages.map(logRecordOf).filter(({ offset }) => offset >= next && offset < to);
    const [first] = records;
    if (!first) return;
    if (first.offset !== next) {
      this.fail(new Error(`${topic}/${partition} has no record at ${next}`));
      return;
    }
    this.next += records.length;
    this.#waiting += records.length;
    for (let from = 0; from < records.length; from += batchSize) {
      this.#batches.push({ topic, partition, records: records.slice(from, from + batchSize) });
    }
    this.#news.wake();
  }

  async take(): Promise<Batch> {
    const deadline = performance.now() + stalledMs;
    for (;;) {
      const batch = this.#batches.shift();
      if (batch) {
        this.#waiting -= batch.records.length;
        return batch;
      }
      if (this.#failure) throw this.#failure;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) {
        throw new Error(`kafka returned no existing record within ${stalledMs / 1_000} s`);
      }
      await this.#news.sleep(leftMs);
    }
  }
}

/**
 * Reads ranges of partitions. kafkajs has no consumer without a group, so one consumer in a new group has all partitions,
 * which are paused except during reads. It is created on demand and closed after a minute without reads.
 */
export const createPartitionReader = (
  kafka: Kafka,
  settings: KafkaSettings,
  admin: ClusterAdmin,
) => {
  const reads = new Map<string, PartitionRead>();
  /** The end of the last requested read of each partition. */
  const ends = new Map<string, Promise<void>>();
  const closed = new AbortController();
  let idle: NodeJS.Timeout | undefined;
  let membership: Promise<{ readonly member: GroupMember; readonly groupId: string }> | undefined;
  const keyOf = (name: string, partition: number): string => `${name}/${partition}`;

  /** Resumes a partition at the next offset of its read. */
  const fetch = (consumer: Consumer, read: PartitionRead): void => {
    const { topic, partition, next } = read;
    read.isFetching = true;
    const name = topicIn(settings, topic);
    consumer.seek({ topic: name, partition, offset: String(next) });
    consumer.resume([{ topic: name, partitions: [partition] }]);
  };

  const handle = (consumer: Consumer, { batch }: EachBatchPayload): void => {
    const { topic: name, partition } = batch;
    const read = reads.get(keyOf(name, partition));
    // A batch without an expected record was fetched before the seek.
    read?.add(batch);
    if (read?.wantsMore) {
      fetch(consumer, read);
      return;
    }
    // It is resumed when enough of its batches have been returned.
    if (read) read.isFetching = false;
    consumer.pause([{ topic: name, partitions: [partition] }]);
  };

  /** Joins a new group. After a crash, joins another one if reads are pending. */
  const join = async () => {
    const groupId = `${settings.prefix}linklog-reader-${randomUUID()}`;
    const member = createGroupMember(kafka, settings, {
      groupId,
      topics: topicNames,
      maxWaitTimeInMs,
      onJoin(assignment) {
        for (const [name, partitions] of Object.entries(assignment)) {
          member.consumer.pause([{ topic: name, partitions: [...partitions] }]);
          for (const partition of partitions) {
            // There was a rebalance during a read.
            const read = reads.get(keyOf(name, partition));
            if (read && read.next < read.to) fetch(member.consumer, read);
          }
        }
      },
      handle: (payload) => {
        handle(member.consumer, payload);
        return Promise.resolve();
      },
    });
    try {
      await member.join();
    } catch (error) {
      await member.leave();
      throw error;
    }
    member.crashed.catch(() => {
      membership = undefined;
      if (reads.size === 0) return;
      joined().catch((error: unknown) => {
        for (const read of reads.values()) read.fail(error as Error);
      });
    });
    return { member, groupId };
  };

  /** Retries, because a restart of a broker takes some seconds. */
  const joined = async (): Promise<GroupMember> => {
    const deadline = performance.now() + joinWithinMs;
    const { signal } = closed;
    const isRetryable = (): boolean => performance.now() < deadline;
    membership ??= retry(join, { pauses, signal, isRetryable }).catch((error: unknown) => {
      membership = undefined;
      throw error;
    });
    return (await membership).member;
  };

  const leave = async (): Promise<void> => {
    clearTimeout(idle);
    const current = membership;
    membership = undefined;
    if (!current) return;
    const { member, groupId } = await current;
    await member.leave();
    await admin.run((client) => client.deleteGroups([groupId]));
  };

  async function* read(
    topic: TopicName,
    partition: number,
    from: number,
    to: number,
  ): AsyncGenerator<Batch> {
    if (from >= to) return;
    const key = keyOf(topicIn(settings, topic), partition);
    // One read of a partition at a time, because a consumer has one offset.
    const previous = ends.get(key);
    const end = deferred();
    ends.set(key, end.promise);
    await previous;
    clearTimeout(idle);
    const current = new PartitionRead(topic, partition, from, to);
    reads.set(key, current);
    try {
      fetch((await joined()).consumer, current);
      let next = from;
      while (next < to) {
        const batch = await current.take();
        next += batch.records.length;
        const { consumer } = await joined();
        // Fetches while the caller handles the last batch.
        if (current.wantsMore && !current.isFetching) fetch(consumer, current);
        yield batch;
      }
    } finally {
      // The next fetched batch pauses the partition.
      reads.delete(key);
      end.resolve();
      if (reads.size === 0) {
        idle = setTimeout(() => {
          // Kafka removes a group without members.
          leave().catch(() => undefined);
        }, idleMs).unref();
      }
    }
  }

  return {
    read,
    close(): Promise<void> {
      closed.abort(new Error('The log was closed'));
      return leave();
    },
  };
};
