import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import type { TopicName } from '../../../schemas/events/topics.js';
import type { Queryable } from '../../platform/postgres/pool.js';
import type { Write } from '../../platform/postgres/statement.js';

/** Where recorded events end, by partition of the outbox: an offset above all of them. */
export type OutboxPosition = readonly { readonly partitionId: number; readonly next: number }[];

/** The position of no events. */
export const noPosition: OutboxPosition = [];

/**
 * The ledger's outbox: the head of the log. An event is in the log from its commit here, and
 * nothing takes it back, however far the readers of the log lag behind.
 */
export interface Outbox {
  /**
   * The statement that records decided events in the deciding transaction. It locks the log's partitions, so it must
   * be the transaction's last statement: no transaction may wait for another lock while it holds these.
   */
  record(events: readonly LinklogEvent[]): Write<OutboxPosition>;
  /**
   * The subjects' events above the sequences that are known, those of one subject in order, at most `limit` in all if
   * there is one. Read with the caller's pool: who answers a request waits no longer than its pool allows.
   */
  after(
    postgres: Queryable,
    topic: TopicName,
    known: readonly { readonly subject: string; readonly sequence: number }[],
    limit?: number,
  ): Promise<readonly LinklogEvent[]>;
}

/** Whether, and when, the log proper (Kafka) has what the outbox recorded. */
export interface OutboxDelivery {
  /** Whether the log proper has committed events by `withinMs` from now. */
  published(outboxPosition: OutboxPosition, withinMs: number): Promise<boolean>;
  /** Whether the log proper has, now, each subject's first event: the one that made it. */
  hasPublishedFirst(topic: TopicName, subjects: readonly string[]): Promise<boolean>;
  /** Whether events wait for the log proper for so long that no new ones should be decided. */
  isStalled(): Promise<boolean>;
}

/** Of the embedded log: the outbox's table is the log proper, so an event is there at its commit. */
export const deliveredAtCommit: OutboxDelivery = {
  published: () => Promise.resolve(true),
  hasPublishedFirst: () => Promise.resolve(true),
  isStalled: () => Promise.resolve(false),
};
