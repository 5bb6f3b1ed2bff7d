import {
  checkPosition,
  PositionMoved,
  type Delivery,
  type EventLog,
  type Position,
  type TopicPartition,
} from '../../ops/event-log/port.js';
import { advisoryLocks } from '../../ops/advisory-locks.js';
import { valuesByField, type Client, type Queryable } from '../../ops/platform/postgres/pool.js';
import type { TopicName } from '../../schemas/events/topics.js';
import {
  liveSchema,
  lockNumber,
  type Projection,
  type ProjectionName,
  type ProjectionSchema,
} from './projection.js';

/** A reader's position in a partition: the next offset that it will apply. */
export type Checkpoint = Position & TopicPartition;

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
export const shareSchema = (name: ProjectionName): string =>
  `SELECT pg_advisory_xact_lock_shared(${advisoryLocks.projectionSchema}, ${lockNumber(name)})`;

/** A statement that waits for batches in flight and blocks others until the transaction ends. */
export const ownSchema = (name: ProjectionName): string =>
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

/** A partition without a checkpoint begins at 0. @throws BatchNotAtCheckpoint */
const requireBegins = (
  schema: ProjectionSchema,
  batch: Delivery,
  logId: string,
  checkpoint: Checkpoint | null,
): void => {
  const expected = checkpoint ?? { logId, offset: 0 };
  if (expected.logId !== logId || expected.offset !== batch.records.at(0)?.offset) {
    throw new BatchNotAtCheckpoint(schema, batch, checkpoint);
  }
};

/** Checks that the batch begins at the checkpoint. @throws BatchNotAtCheckpoint */
export const requireAtCheckpoint = async (
  tx: Client,
  schema: ProjectionSchema,
  batch: Delivery,
  logId: string,
  lock: 'FOR UPDATE' | '' = '',
): Promise<void> => {
  const { topic, partition } = batch;
  const checkpoint = await readCheckpoint(tx, schema, topic, partition, lock);
  requireBegins(schema, batch, logId, checkpoint);
};

/** Locks all checkpoints of the schema and checks that the batches begin at them. @throws BatchNotAtCheckpoint */
export const requireAtCheckpoints = async (
  tx: Client,
  schema: ProjectionSchema,
  batches: readonly Delivery[],
  log: Pick<EventLog, 'logId'>,
): Promise<void> => {
  const checkpoints = await readCheckpoints(tx, schema, 'FOR UPDATE');
  for (const batch of batches) {
    const { topic, partition } = batch;
    const checkpoint = checkpointOf(checkpoints, topic, partition) ?? null;
    requireBegins(schema, batch, log.logId(topic), checkpoint);
  }
};

/**
 * Moves the checkpoints from the beginning to the end of their batches.
 *
 * @throws BatchNotAtCheckpoint if two readers concurrently insert the first checkpoint of a partition
 */
export const moveCheckpoints = async (
  tx: Client,
  schema: ProjectionSchema,
  batches: readonly Delivery[],
  log: Pick<EventLog, 'logId'>,
): Promise<void> => {
  const moves = batches.map(({ topic, partition, records }) => {
    const first = records.at(0)?.offset ?? 0;
    const next = (records.at(-1)?.offset ?? 0) + 1;
    return { topic, partition, logId: log.logId(topic), first, next };
  });
  const valuesOf = (rows: typeof moves) =>
    valuesByField(rows, 'topic', 'partition', 'logId', 'next');
  const updates = moves.filter(({ first }) => first > 0);
  const inserts = moves.filter(({ first }) => first === 0);
  const results = await Promise.all([
    updates.length > 0
      ? tx.query({
          name: `checkpoints-move-${schema}`,
          text: `UPDATE ${schema}.checkpoints c SET next_offset = next
                 FROM unnest($1::text[], $2::integer[], $3::text[], $4::bigint[], $5::bigint[])
                   AS m (topic, partition, log_id, next, first)
                 WHERE c.topic = m.topic AND c.partition = m.partition AND c.log_id = m.log_id
                   AND next_offset = first`,
          values: [...valuesOf(updates), ...valuesByField(updates, 'first')],
        })
      : null,
    inserts.length > 0
      ? tx.query(
          `INSERT INTO ${schema}.checkpoints (topic, partition, log_id, next_offset)
           SELECT * FROM unnest($1::text[], $2::integer[], $3::text[], $4::bigint[])
           ON CONFLICT DO NOTHING`,
          valuesOf(inserts),
        )
      : null,
  ]);
  const moved = results.reduce((sum, result) => sum + (result?.rowCount ?? 0), 0);
  const [batch] = batches;
  if (batch && moved !== batches.length) throw new BatchNotAtCheckpoint(schema, batch, null);
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
