import { randomUUID } from 'node:crypto';
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { topicNames, type TopicName } from '../../../schemas/events/topics.js';
import { deferred } from '../../platform/concurrency/deferred.js';
import { retry } from '../../platform/concurrency/retry.js';
import { WakeUp } from '../../platform/concurrency/wake-up.js';
import type { Batch } from '../port.js';
import type { ClusterAdmin } from './admin.js';
import { createGroupMember, logRecordOf, type GroupMember } from './group-member.js';
import type { KafkaSettings } from './settings.js';
import { topicIn } from './topics.js';

/** Records in a piece. */
const pieceSize = 1_000;
const maxWaitTimeInMs = 100;
/** How long a read waits for records that the partition is known to hold. */
const stalledMs = 30_000;
const idleMs = 60_000;
const joinWithinMs = 30_000;
const pauses = { firstMs: 100, longestMs: 5_000 };

/** One read of a partition, from the consumer's side. */
class PartitionRead {
  readonly #pieces: Batch[] = [];
  readonly #news = new WakeUp();
  #failure: Error | null = null;

  constructor(
    readonly topic: TopicName,
    readonly partition: number,
    /** The next offset to fetch. */
    public next: number,
    readonly to: number,
  ) {}

  /** Whether a fetch is to be made: memory holds the pieces of one fetch, and the last piece taken. */
  get wantsMore(): boolean {
    return this.#pieces.length === 0 && this.next < this.to;
  }

  fail(error: Error): void {
    this.#failure = error;
    this.#news.wake();
  }

  /** Takes those records of a fetch that are due; returns whether there were any. */
  add({ messages }: EachBatchPayload['batch']): boolean {
    const { topic, partition, next, to } = this;
    const records = messages.map(logRecordOf).filter(({ offset }) => offset >= next && offset < to);
    const [first] = records;
    if (!first) return false;
    if (first.offset !== next) {
      this.fail(new Error(`${topic}/${partition} holds nothing at ${next}`));
      return true;
    }
    this.next += records.length;
    for (let from = 0; from < records.length; from += pieceSize) {
      this.#pieces.push({ topic, partition, records: records.slice(from, from + pieceSize) });
    }
    this.#news.wake();
    return true;
  }

  async take(): Promise<Batch> {
    const deadline = performance.now() + stalledMs;
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece) return piece;
      if (this.#failure) throw this.#failure;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) {
        throw new Error(`Kafka gave no record in ${stalledMs / 1_000} s, though it has some`);
      }
      await this.#news.sleep(leftMs);
    }
  }
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
) => {
  const reads = new Map<string, PartitionRead>();
  /** Of each partition, the end of the read that was asked for last. */
  const ends = new Map<string, Promise<void>>();
  const closed = new AbortController();
  let idle: NodeJS.Timeout | undefined;
  let membership: Promise<{ readonly member: GroupMember; readonly groupId: string }> | undefined;
  const keyOf = (name: string, partition: number): string => `${name}/${partition}`;

  /** Fetches a partition from where its read is; a paused partition is paused no more. */
  const fetch = (consumer: Consumer, { topic, partition, next }: PartitionRead): void => {
    const name = topicIn(settings, topic);
    consumer.seek({ topic: name, partition, offset: String(next) });
    consumer.resume([{ topic: name, partitions: [partition] }]);
  };

  const handle = (consumer: Consumer, { batch }: EachBatchPayload): void => {
    const { topic: name, partition } = batch;
    const read = reads.get(keyOf(name, partition));
    // Without a due record, the batch was fetched before the seek took hold.
    if (read && !read.add(batch) && read.wantsMore) fetch(consumer, read);
    // It is resumed when its pieces are taken.
    else consumer.pause([{ topic: name, partitions: [partition] }]);
  };

  /** Joins a new group. A group that is lost later is left, and another one joined if it is needed. */
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
            // The group may have been balanced anew during a read.
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

  /** Joins, again and again: a new coordinator needs a moment, a broker that restarts some seconds. */
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
    const left = membership;
    membership = undefined;
    if (!left) return;
    const { member, groupId } = await left;
    await member.leave();
    await admin.ask((asked) => asked.deleteGroups([groupId]));
  };

  async function* read(
    topic: TopicName,
    partition: number,
    from: number,
    to: number,
  ): AsyncGenerator<Batch> {
    if (from >= to) return;
    const key = keyOf(topicIn(settings, topic), partition);
    // One read of a partition at a time: it has one place in the group.
    const before = ends.get(key);
    const end = deferred();
    ends.set(key, end.promise);
    await before;
    clearTimeout(idle);
    const current = new PartitionRead(topic, partition, from, to);
    reads.set(key, current);
    try {
      fetch((await joined()).consumer, current);
      let taken = from;
      while (taken < to) {
        const piece = await current.take();
        taken += piece.records.length;
        // More is fetched while the last piece is worked on.
        if (current.wantsMore) fetch((await joined()).consumer, current);
        yield piece;
      }
    } finally {
      // A batch that still comes pauses the partition.
      reads.delete(key);
      end.resolve();
      if (reads.size === 0) {
        idle = setTimeout(() => {
          // A cluster that is away forgets by itself a group without members.
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
