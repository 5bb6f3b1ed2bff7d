import {
  checkPosition,
  type EventLog,
  type PartitionRange,
} from '../../../platform/event-log/port.js';
import type { Checkpoint } from '../../../../projectors/runtime/checkpoints.js';
import type { TopicName } from '../../../../schemas/events/topics.js';
import { ledgerTopics } from '../../../ledger/rebuild/rebuild.js';
import type { TableEnd } from './records.js';
import type { Model } from './report.js';

/** A partition of the log proper, as it was in the beginning. */
export interface LogPartition extends PartitionRange {
  readonly topic: TopicName;
}

/**
 * In the order in which the ledger is folded.
 *
 * @throws ForeignPosition when the log does not begin with its first record any more
 */
export const partitionsOf = async (log: EventLog): Promise<readonly LogPartition[]> => {
  const partitions: LogPartition[] = [];
  for (const topic of ledgerTopics) {
    const logId = log.logId(topic);
    for (const range of await log.ranges(topic)) {
      checkPosition(topic, range, logId, { logId, offset: 0 });
      partitions.push({ topic, ...range });
    }
  }
  return partitions;
};

/** How far the folds are. */
export interface FoldPositions {
  /** Of the ledger: how far it has each partition of the table. */
  readonly table: readonly TableEnd[];
  /** Of the live read models, and of their folds. */
  readonly checkpoints: ReadonlyMap<Model, readonly Checkpoint[]>;
}

export const offsetIn = (
  checkpoints: readonly Checkpoint[],
  topic: TopicName,
  partition: number,
): number =>
  checkpoints.find((known) => known.topic === topic && known.partition === partition)?.offset ?? 0;
