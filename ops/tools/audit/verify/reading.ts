import { checkpointOf, type Checkpoint } from '../../../../projectors/runtime/checkpoints.js';
import type { TopicName } from '../../../../schemas/events/topics.js';
import { ledgerTopics } from '../../../ledger/rebuild/rebuild.js';
import { wholeRanges, type Batch, type EventLog } from '../../../event-log/port.js';
import { readOffsetRange } from '../../../event-log/postgres-batches.js';
import type { Queryable } from '../../../platform/postgres/pool.js';
import type { Gap, Model, RowPosition } from './report.js';

/** Records in a batch of the ledger's fold. */
export const batchSize = 2_000;

export interface OffsetRange {
  readonly topic: TopicName;
  readonly partition: number;
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** A range of the table `log.rows`. */
export interface TableRange extends OffsetRange {
  readonly partitionId: number;
  readonly in: RowPosition['in'];
}

/** Passes the batches of a range on, and reports offsets without a record. */
export async function* detectGaps(
  { topic, partition, from, to, in: where }: OffsetRange & Pick<RowPosition, 'in'>,
  batches: AsyncIterable<Batch>,
  onGap: (gap: Gap) => void,
): AsyncGenerator<Batch> {
  let next = from;
  const expect = (offset: number): void => {
    if (offset > next) onGap({ in: where, topic, partition, from: next, to: offset });
  };
  for await (const batch of batches) {
    for (const { offset } of batch.records) {
      expect(offset);
      next = offset + 1;
    }
    yield batch;
  }
  expect(to);
}

export async function* readTable(
  client: Queryable,
  { topic, partition, partitionId, from, to }: TableRange,
): AsyncGenerator<Batch> {
  for await (const records of readOffsetRange(client, { partitionId, from, to })) {
    yield { topic, partition, records };
  }
}

/** A partition of the table that is the log, or the outbox before a log on Kafka. */
export interface TableEnd {
  readonly partitionId: number;
  readonly topic: TopicName;
  readonly partition: number;
  readonly in: RowPosition['in'];
  readonly next: number;
  /** The end of the records that are in the log: on Kafka, those that the relay has marked as sent. */
  readonly published: number;
}

export const tableEnds = async (client: Queryable): Promise<readonly TableEnd[]> => {
  const { rows } = await client.query<TableEnd>(
    `SELECT p.id AS "partitionId", p.topic, p.partition, p.next_offset AS next,
            CASE WHEN r IS NULL THEN 'log' ELSE 'outbox' END AS "in",
            coalesce(r.next_offset, p.next_offset) AS published
     FROM log.partitions p LEFT JOIN log.relayed r ON r.partition_id = p.id
     ORDER BY p.topic, p.partition`,
  );
  return rows;
};

/**
 * Returns the ranges of the whole log, in the order in which the ledger is folded.
 *
 * @throws LogIncomplete
 */
export const wholeLog = async (log: EventLog): Promise<readonly OffsetRange[]> => {
  const partitions: OffsetRange[] = [];
  for (const topic of ledgerTopics) {
    for (const { partition, next } of await wholeRanges(log, topic)) {
      partitions.push({ topic, partition, from: 0, to: next });
    }
  }
  return partitions;
};

/** The offsets up to which the folds are complete. */
export interface FoldPositions {
  /** Of the ledger. */
  readonly table: readonly TableEnd[];
  /** Of the read models. */
  readonly checkpoints: ReadonlyMap<Model, readonly Checkpoint[]>;
}

export const offsetIn = (...args: Parameters<typeof checkpointOf>): number =>
  checkpointOf(...args)?.offset ?? 0;
