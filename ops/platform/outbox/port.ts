import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import type { TopicName } from '../../../schemas/events/topics.js';
import type { Client } from '../postgres/pool.js';

/** A subject, and the sequence up to which its events are known to the one who asks. */
export interface SubjectMark {
  readonly subject: string;
  readonly sequence: number;
}

/**
 * The ledger's outbox: the head of the log. An event is in the log from its commit here, and
 * nothing takes it back, however far the readers of the log lag behind.
 */
export interface Outbox {
  /**
   * Records decided events in the deciding transaction. It takes the partitions' locks, so it must
   * be the transaction's last statement: what is locked before it never waits for it.
   */
  record(tx: Client, events: readonly LinklogEvent[]): Promise<void>;
  /** The subjects' events above their marks, those of one subject in order. */
  after(topic: TopicName, marks: readonly SubjectMark[]): Promise<readonly LinklogEvent[]>;
  /** Resolves when the log proper has every event that was recorded before the call. */
  settled(): Promise<void>;
}
