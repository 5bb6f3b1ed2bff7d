import type { Batch, EachBatchPayload, Kafka } from 'kafkajs';
import { untilAborted } from '../../platform/concurrency/deferred.js';
import { retry } from '../../platform/concurrency/retry.js';
import type { Logger } from '../../platform/logging.js';
import { PartitionCursor, pauses, startFollowing } from '../following.js';
import {
  ForeignPosition,
  type EventLog,
  type SubscribeOptions,
  type Subscription,
} from '../port.js';
import { createGroupMember, logRecordOf, type Assignment } from './group-member.js';
import type { KafkaSettings } from './settings.js';
import { topicIn } from './topics.js';

/** After so much silence a member is gone, and its partitions are given to others. */
const sessionTimeout = 6_000;
const heartbeatInterval = 2_000;
/**
 * How long a fetch waits for records. Each process that follows a topic asks anew after it, less often
 * where nothing ever happens (`waitLongerWhileQuiet`).
 */
const maxWaitTimeInMs = 1_000;

interface Context extends Pick<EventLog, 'logId' | 'ranges'> {
  readonly kafka: Kafka;
  readonly settings: KafkaSettings;
  readonly logger: Logger;
  /** Resolves when the cluster is known and its topics are as they must be. */
  readonly ready: Promise<void>;
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
): Subscription & {
  /** Goes on from the reader's checkpoints, which may have gone back. */
  relocate(): void;
} => {
  const { kafka, settings, logger } = context;
  const { group, maxBatch = 1_000 } = options;
  const topics = new Map(options.topics.map((topic) => [topicIn(settings, topic), topic]));
  let relocate: (() => void) | null = null;

  /** The life of one member. @throws what ended it */
  const followAsMember = async (ended: AbortController): Promise<void> => {
    const { signal } = ended;
    const cursors = new Map<string, PartitionCursor>();

    const cursorOf = (name: string, partition: number): PartitionCursor => {
      const topic = topics.get(name);
      if (topic === undefined) throw new Error(`Kafka gave records of ${name}, unasked`);
      const key = `${name}/${partition}`;
      const cursor = cursors.get(key) ?? new PartitionCursor(topic, partition);
      cursors.set(key, cursor);
      return cursor;
    };

    const seek = ({ topic, partition, offset }: PartitionCursor): void => {
      member.consumer.seek({
        topic: topicIn(settings, topic),
        partition,
        offset: String(offset),
      });
    };

    /** Reads the checkpoint, then the log's ends: see `checkPosition`. */
    const locate = async (cursor: PartitionCursor): Promise<number> => {
      const { topic, partition } = cursor;
      const position = await options.position(topic, partition);
      return cursor.moveTo(position, await context.ranges(topic), context.logId(topic));
    };

    /** Seeks all partitions of this member, so that nothing is fetched in vain. */
    const seekAll = async (assignment: Assignment): Promise<void> => {
      for (const [name, partitions] of Object.entries(assignment)) {
        const assigned = partitions.map((partition) => cursorOf(name, partition));
        const positions = await Promise.all(
          assigned.map(({ topic, partition }) => options.position(topic, partition)),
        );
        const topic = topics.get(name);
        if (topic === undefined) continue;
        const ranges = await context.ranges(topic);
        if (signal.aborted) return;
        assigned.forEach((cursor, index) => {
          cursor.moveTo(positions[index] ?? null, ranges, context.logId(topic));
          seek(cursor);
        });
      }
    };

    /** Leaves a partition alone for a while, then goes on from the reader's checkpoint. */
    const rest = async (cursor: PartitionCursor, failure: unknown): Promise<void> => {
      if (failure instanceof ForeignPosition) throw failure;
      const { topic, partition, backoff } = cursor;
      const place = [{ topic: topicIn(settings, topic), partitions: [partition] }];
      cursor.fail(failure, group, logger);
      member.consumer.pause(place);
      await backoff.pause(signal);
      try {
        await locate(cursor);
        seek(cursor);
        member.consumer.resume(place);
      } catch (error) {
        await rest(cursor, error);
      }
    };

    /** Whether a batch begins at the offset that is due; if not, the consumer seeks there. */
    const beginsWhereDue = async (cursor: PartitionCursor, batch: Batch): Promise<boolean> => {
      const first = Number(batch.messages[0]?.offset);
      if (first === (cursor.offset ?? (await locate(cursor)))) return true;
      // Kafka's default before the first seek, or after one out of range; or the checkpoint moved.
      if (first === (await locate(cursor))) return true;
      seek(cursor);
      return false;
    };

    const handlePieces = async (
      cursor: PartitionCursor,
      payload: EachBatchPayload,
    ): Promise<void> => {
      const { topic, partition } = cursor;
      const { messages } = payload.batch;
      const isDone = (): boolean => signal.aborted || !payload.isRunning() || payload.isStale();
      for (let from = 0; from < messages.length && !isDone(); from += maxBatch) {
        const records = messages.slice(from, from + maxBatch).map(logRecordOf);
        await options.handle({ topic, partition, records });
        cursor.advance(records);
        payload.resolveOffset(String(records.at(-1)?.offset));
      }
    };

    const handleBatch = async (payload: EachBatchPayload): Promise<void> => {
      const { batch } = payload;
      const cursor = cursorOf(batch.topic, batch.partition);
      // A slow batch must not make the group take the member for gone.
      const beating = setInterval(() => {
        payload.heartbeat().catch((err: unknown) => {
          // The next fetch fails in the same way.
          logger.debug({ err, group }, 'a heartbeat failed');
        });
      }, heartbeatInterval);
      try {
        if (await beginsWhereDue(cursor, batch)) await handlePieces(cursor, payload);
      } catch (error) {
        rest(cursor, error).catch((fatal: unknown) => {
          ended.abort(fatal);
        });
      } finally {
        clearInterval(beating);
      }
    };

    let assigned: Assignment = {};
    relocate = () => {
      retry(() => seekAll(assigned), {
        pauses,
        signal,
        isRetryable: (error) => !(error instanceof ForeignPosition),
      }).catch((error: unknown) => {
        // Without effect where the signal has ended it.
        ended.abort(error);
      });
    };

    const member = createGroupMember(kafka, settings, {
      groupId: `${settings.prefix}linklog-${group}`,
      topics: options.topics,
      sessionTimeout,
      heartbeatInterval,
      maxWaitTimeInMs,
      onJoin(assignment) {
        cursors.clear();
        assigned = assignment;
        seekAll(assignment).catch((err: unknown) => {
          if (err instanceof ForeignPosition) ended.abort(err);
          // PostgreSQL or Kafka is away: each partition is located at its first batch.
          else logger.debug({ err, group }, 'checkpoints cannot be read');
        });
      },
      handle: handleBatch,
    });
    try {
      await untilAborted(Promise.race([member.join(), member.crashed]), signal);
      await untilAborted(member.crashed, signal);
    } finally {
      await member.leave();
    }
  };

  const subscription = startFollowing(group, logger, async (ended) => {
    const { signal } = ended;
    await untilAborted(context.ready, signal);
    await retry(() => followAsMember(ended), {
      pauses,
      steadyMs: pauses.longestMs,
      signal,
      onFailure(err) {
        logger.warn({ err, group }, 'the log cannot be read; trying again');
      },
    });
  });
  return { ...subscription, relocate: () => relocate?.() };
};
