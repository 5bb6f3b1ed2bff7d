import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import type { TopicName } from '../../../schemas/events/topics.js';
import type { Queryable } from '../../platform/postgres/pool.js';
import type { Write } from '../../platform/postgres/statement.js';
import { noneStalled, type StalledPartitions } from './stalled-partitions.js';

/** The end of recorded events in each partition of the outbox. */
export type OutboxPosition = readonly { readonly partitionId: number; readonly next: number }[];

export const noPosition: OutboxPosition = [];

/** The ledger's outbox is the head of the log: a committed event is final, even if readers lag. */
export interface Outbox {
  /**
   * Records events in the transaction that decided them. It locks partitions of the log, so it must be the last statement:
   * a transaction that holds these locks must not wait for others.
   */
  record(events: readonly LinklogEvent[]): Write<OutboxPosition>;
  /** Returns the part of a position that concerns the partitions of these events, which were recorded with others. */
  positionOf(events: readonly LinklogEvent[], recorded: OutboxPosition): OutboxPosition;
  /**
   * Returns the events of subjects after their known sequences, ordered by subject and sequence. The deadlines are those of
   * `postgres`.
   */
  after(
    postgres: Queryable,
    topic: TopicName,
    known: readonly { readonly subject: string; readonly sequence: number }[],
    limit?: number,
  ): Promise<readonly LinklogEvent[]>;
}

/** Whether the log (Kafka) has the events of the outbox. */
export interface OutboxDelivery {
  /** Waits until the log has the events, for at most `withinMs`. Returns whether it has. */
  published(outboxPosition: OutboxPosition, withinMs: number): Promise<boolean>;
  /** Whether the log has the first event of each subject. */
  hasPublishedFirst(topic: TopicName, subjects: readonly string[]): Promise<boolean>;
  stalled(): Promise<StalledPartitions>;
}

/** The delivery of the embedded log, whose table is the outbox. */
export const deliveredAtCommit: OutboxDelivery = {
  published: () => Promise.resolve(true),
  hasPublishedFirst: () => Promise.resolve(true),
  stalled: () => Promise.resolve(noneStalled),
};
