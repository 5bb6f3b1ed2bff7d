import {
  checkPosition,
  PositionMoved,
  type Delivery,
  type EventLog,
  type Position,
  type TopicPartition,
} from '../../ops/event-log/port.js';
import { advisoryLocks } from '../../ops/advisory-locks.js';
import type { Client, Queryable } from '../../ops/platform/postgres/pool.js';
import type { TopicName } from '../../schemas/events/topics.js';
import { lockNumber } from '../projections.js';
import { liveSchema, type Projection, type ProjectionSchema } from './projection.js';

/** A reader's position in a partition: the next offset that it will apply. */
type Checkpoint = Position & TopicPartition;

/** A batch does not begin at the checkpoint: another reader moved it, or a rebuild was swapped in. */
export class BatchNotAtCheckpoint extends PositionMoved {
  override readonly code = 'BATCH_NOT_AT_CHECKPOINT';

  constructor(schema: ProjectionSchema, batch: Delivery, checkpoint: Position | null) {
    super(
      `${schema} is at ${batch.topic}/${batch.partition} ` +
        `${checkpoint ? `${checkpoint.offset} of ${checkpoint.logId}` : 'without a checkpoint'}; ` +
        `the batch begins at ${batch.records.at(0)?.offset ?? 'no record'}`,
    );
  }
}

/**
 * A statement that prevents a rename of the projection's schema until the transaction ends. It must be the first of a
 * batch, because only later statements resolve the schema's name again.
 */
export const shareSchema = (name: string): string =>
  `SELECT pg_advisory_xact_lock_shared(${advisoryLocks.projectionSchema}, ${lockNumber(name)})`;

/** A statement that waits for batches in flight and blocks others until the transaction ends. */
export const ownSchema = (name: string): string =>
  `SELECT pg_advisory_xact_lock(${advisoryLocks.projectionSchema}, ${lockNumber(name)})`;

const selectCheckpoints = (schema: ProjectionSchema): string =>
  `SELECT topic, partition, log_id AS "logId", next_offset AS "offset" FROM ${schema}.checkpoints`;

export const readCheckpoints = async (
  client: Queryable,
  schema: ProjectionSchema,
  lock: 'FOR UPDATE' | '' = '',
): Promise<readonly Checkpoint[]> => {
  const { rows } = await client.query<Checkpoint>(
    `${selectCheckpoints(schema)} ORDER BY topic, partition ${lock}`,
  );
  return rows;
};

export const checkpointOf = (
  checkpoints: readonly Checkpoint[],
  topic: TopicName,
  partition: number,
): Checkpoint | undefined =>
  checkpoints.find((known) => known.topic === topic && known.partition === partition);

/** Returns the checkpoint of one partition; `null` before its first batch. */
export const readCheckpoint = async (
  client: Queryable,
  schema: ProjectionSchema,
  topic: TopicName,
  partition: number,
  lock: 'FOR UPDATE' | '' = '',
): Promise<Checkpoint | null> => {
  const { rows } = await client.query<Checkpoint>({
    name: `checkpoint-of-${schema} ${lock}`,
    text: `${selectCheckpoints(schema)} WHERE topic = $1 AND partition = $2 ${lock}`,
    values: [topic, partition],
  });
  return rows[0] ?? null;
};

/** Checks that the batch begins at the checkpoint, or at 0 without one. @throws BatchNotAtCheckpoint */
export const requireAtCheckpoint = async (
  tx: Client,
  schema: ProjectionSchema,
  batch: Delivery,
  logId: string,
  lock: 'FOR UPDATE' | '' = '',
): Promise<void> => {
  const { topic, partition } = batch;
  const checkpoint = await readCheckpoint(tx, schema, topic, partition, lock);
  const expected = checkpoint ?? { logId, offset: 0 };
  if (expected.logId !== logId || expected.offset !== batch.records.at(0)?.offset) {
    throw new BatchNotAtCheckpoint(schema, batch, checkpoint);
  }
};

/**
 * Moves the checkpoint from the beginning to the end of the batch.
 *
 * @throws BatchNotAtCheckpoint if two readers concurrently insert the first checkpoint of a partition
 */
export const moveCheckpoint = async (
  tx: Client,
  schema: ProjectionSchema,
  batch: Delivery,
  logId: string,
): Promise<void> => {
  const { topic, partition, records } = batch;
  const first = records.at(0)?.offset ?? 0;
  const next = (records.at(-1)?.offset ?? 0) + 1;
  const { rowCount } = await (first > 0
    ? tx.query({
        name: `checkpoint-move-${schema}`,
        text: `UPDATE ${schema}.checkpoints SET next_offset = $4
               WHERE topic = $1 AND partition = $2 AND log_id = $3 AND next_offset = $5`,
        values: [topic, partition, logId, next, first],
      })
    : tx.query(
        `INSERT INTO ${schema}.checkpoints (topic, partition, log_id, next_offset)
         VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
        [topic, partition, logId, next],
      ));
  if (rowCount !== 1) throw new BatchNotAtCheckpoint(schema, batch, null);
};

/**
 * Checks that the live projection is of this log, and that the log has all records that it has not applied yet.
 *
 * @throws ForeignPosition
 */
export const requireKnownCheckpoints = async (
  client: Queryable,
  log: EventLog,
  projection: Projection,
): Promise<void> => {
  const checkpoints = await readCheckpoints(client, liveSchema(projection.name));
  for (const topic of projection.topics) {
    const logId = log.logId(topic);
    for (const range of await log.ranges(topic)) {
      const position = checkpointOf(checkpoints, topic, range.partition) ?? { logId, offset: 0 };
      checkPosition(topic, range, logId, position);
    }
  }
};
