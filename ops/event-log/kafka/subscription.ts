import type { Batch, EachBatchPayload, Kafka } from 'kafkajs';
import { coalesce, untilAborted } from '../../platform/concurrency/deferred.js';
import { retry } from '../../platform/concurrency/retry.js';
import type { Logger } from '../../platform/logging.js';
import { outageOf, PartitionCursor, pauses, startFollowing } from '../following.js';
import {
  ForeignPosition,
  type EventLog,
  type SubscribeOptions,
  type Subscription,
} from '../port.js';
import { createGroupMember, logRecordOf, type Assignment } from './group-member.js';
import type { KafkaSettings } from './settings.js';
import { topicIn } from './topics.js';

const sessionTimeout = 6_000;
const heartbeatInterval = 2_000;
/** How long a fetch waits for records; longer for quiet topics (`waitLongerWhileQuiet`). */
const maxWaitTimeInMs = 1_000;

interface Context extends Pick<EventLog, 'logId' | 'ranges'> {
  readonly kafka: Kafka;
  readonly settings: KafkaSettings;
  readonly logger: Logger;
  /** Resolves when the cluster is reachable and its topics are valid. */
  readonly ready: Promise<void>;
}

/**
 * Follows topics as a member of a group, which commits no offsets: a partition starts at the reader's checkpoint, and a
 * batch is handled only if it begins at the expected offset; otherwise the consumer seeks there. So kafkajs, which resets
 * offsets that are out of range and fetches from a default before a seek, cannot skip or repeat a record.
 */
export const startKafkaSubscription = (
  options: SubscribeOptions,
  context: Context,
): Subscription & {
  readonly group: string;
  /** Moves to the reader's checkpoints, which may have moved back. */
  relocate(): void;
} => {
  const { kafka, settings, logger } = context;
  const { group, maxBatch = 1_000 } = options;
  const outage = outageOf(options, logger);
  const topics = new Map(options.topics.map((topic) => [topicIn(settings, topic), topic]));
  let relocate: (() => void) | null = null;

  /** @throws the error that ended the member */
  const followAsMember = async (ended: AbortController): Promise<void> => {
    const { signal } = ended;
    const cursors = new Map<string, PartitionCursor>();

    const cursorOf = (name: string, partition: number): PartitionCursor => {
      const topic = topics.get(name);
      if (topic === undefined)
        throw new Error(`kafka returned records of ${name}, which was not subscribed`);
      const key = `${name}/${partition}`;
      const cursor = cursors.get(key) ?? new PartitionCursor(topic, partition, outage);
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

    /** Reads the checkpoint before the ranges: see `checkPosition`. */
    const locate = async (cursor: PartitionCursor): Promise<number> => {
      const { topic, partition } = cursor;
      const position = await options.position(topic, partition);
      return cursor.moveTo(position, await context.ranges(topic), context.logId(topic));
    };

    /** Seeks all assigned partitions before the first fetch. */
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

    /** Pauses a partition after a failure, then resumes it from the reader's checkpoint. */
    const backOff = async (cursor: PartitionCursor, failure: unknown): Promise<void> => {
      if (failure instanceof ForeignPosition) throw failure;
      const { topic, partition, backoff } = cursor;
      const paused = [{ topic: topicIn(settings, topic), partitions: [partition] }];
      cursor.fail(failure);
      member.consumer.pause(paused);
      await backoff.pause(signal);
      try {
        await locate(cursor);
        seek(cursor);
        member.consumer.resume(paused);
      } catch (error) {
        await backOff(cursor, error);
      }
    };

    /** Returns whether a batch begins at the expected offset; if not, seeks there. */
    const beginsAsExpected = async (cursor: PartitionCursor, batch: Batch): Promise<boolean> => {
      const first = Number(batch.messages[0]?.offset);
      if (first === (cursor.offset ?? (await locate(cursor)))) return true;
      // The default offset before the first seek or after one out of range, or the checkpoint was moved.
      if (first === (await locate(cursor))) return true;
      seek(cursor);
      return false;
    };

    const handleParts = async (
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
      // During a slow batch, the group must not remove the member.
      const heartbeats = setInterval(() => {
        payload.heartbeat().catch((err: unknown) => {
          // The next fetch fails in the same way.
          logger.debug({ err, group }, 'a heartbeat failed');
        });
      }, heartbeatInterval);
      try {
        if (await beginsAsExpected(cursor, batch)) await handleParts(cursor, payload);
      } catch (error) {
        backOff(cursor, error).catch((fatal: unknown) => {
          ended.abort(fatal);
        });
      } finally {
        clearInterval(heartbeats);
      }
    };

    let assigned: Assignment = {};
    /** Repeated until it succeeds: a partition without new records has no batch that would seek. */
    const seekAssigned = coalesce(() =>
      retry(() => seekAll(assigned), {
        pauses,
        signal,
        isRetryable: (error) => !(error instanceof ForeignPosition),
        onFailure(err) {
          // PostgreSQL or Kafka is unavailable.
          logger.debug({ err, group }, 'checkpoints cannot be read');
        },
      }),
    );
    const relocateAll = (): void => {
      seekAssigned().catch((error: unknown) => {
        ended.abort(error);
      });
    };
    relocate = relocateAll;

    const member = createGroupMember(kafka, settings, {
      groupId: `${settings.prefix}linklog-${group}`,
      topics: options.topics,
      sessionTimeout,
      heartbeatInterval,
      maxWaitTimeInMs,
      onJoin(assignment) {
        cursors.clear();
        assigned = assignment;
        outage.recovered();
        relocateAll();
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
        outage.failed(err);
      },
    });
  });
  return { ...subscription, group, relocate: () => relocate?.() };
};
