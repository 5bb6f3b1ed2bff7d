import { checkpointOf, type Checkpoint } from '../../../../projectors/runtime/checkpoints.js';
import type { TopicName } from '../../../../schemas/events/topics.js';
import { ledgerTopics } from '../../../ledger/rebuild/rebuild.js';
import { wholeRanges, type Batch, type EventLog } from '../../../event-log/port.js';
import { readStretch } from '../../../event-log/postgres-batches.js';
import type { Queryable } from '../../../platform/postgres/pool.js';
import type { Gap, Model, RowPlace } from './report.js';

/** Records in a batch of the ledger's fold. */
export const batchSize = 2_000;

/** A stretch of a partition. */
export interface Stretch {
  readonly topic: TopicName;
  readonly partition: number;
  readonly from: number;
  /** Not included. */
  readonly to: number;
}

/** A part of the table. */
export interface TableStretch extends Stretch {
  readonly partitionId: number;
  readonly in: RowPlace['in'];
}

/** Passes the batches of a stretch on, and reports offsets without a record. */
export async function* noticing(
  { topic, partition, from, to, in: where }: Stretch & Pick<RowPlace, 'in'>,
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

/** Reads the table as the client's transaction sees it. */
export async function* readTable(
  client: Queryable,
  { topic, partition, partitionId, from, to }: TableStretch,
): AsyncGenerator<Batch> {
  for await (const records of readStretch(client, { partitionId, from, to })) {
    yield { topic, partition, records };
  }
}

/** A partition of the table that is the log, or the outbox before a log on Kafka. */
export interface TableEnd {
  readonly partitionId: number;
  readonly topic: TopicName;
  readonly partition: number;
  readonly in: RowPlace['in'];
  readonly next: number;
  /** Up to where the log proper has what is in it; on Kafka, what the relay has marked as sent. */
  readonly logged: number;
}

/** Where each partition of the table ends, at one moment. */
export const tableEnds = async (client: Queryable): Promise<readonly TableEnd[]> => {
  const { rows } = await client.query<TableEnd>(
    `SELECT p.id AS "partitionId", p.topic, p.partition, p.next_offset AS next,
            CASE WHEN r IS NULL THEN 'log' ELSE 'outbox' END AS "in",
            coalesce(r.next_offset, p.next_offset) AS logged
     FROM log.partitions p LEFT JOIN log.relayed r ON r.partition_id = p.id
     ORDER BY p.topic, p.partition`,
  );
  return rows;
};

/**
 * The whole log, up to where each partition ends now, in the order in which the ledger is folded.
 *
 * @throws LogIncomplete
 */
export const wholeLog = async (log: EventLog): Promise<readonly Stretch[]> => {
  const partitions: Stretch[] = [];
  for (const topic of ledgerTopics) {
    for (const { partition, next } of await wholeRanges(log, topic)) {
      partitions.push({ topic, partition, from: 0, to: next });
    }
  }
  return partitions;
};

/** How far the folds have come. */
export interface FoldPositions {
  /** Of the ledger: how far it has each partition of the table. */
  readonly table: readonly TableEnd[];
  /** Of the live read models, and of their folds. */
  readonly checkpoints: ReadonlyMap<Model, readonly Checkpoint[]>;
}

export const offsetIn = (...where: Parameters<typeof checkpointOf>): number =>
  checkpointOf(...where)?.offset ?? 0;
