import type { Batch, EventLog, Position } from '../../ops/platform/event-log/port.js';
import { checkPosition, PositionMoved } from '../../ops/platform/event-log/port.js';
import type { Client, Queryable } from '../../ops/platform/postgres/pool.js';
import type { TopicName } from '../../schemas/events/topics.js';
import { liveSchema, type ProjectionSchema } from './names.js';
import type { Projection } from './projection.js';

/** Where a projection stands in one partition. */
export interface Checkpoint extends Position {
  readonly topic: TopicName;
  readonly partition: number;
}

/**
 * A batch that does not begin exactly where the projection stands: another reader moved it, or a
 * rebuild was swapped in. Whoever reads on from the checkpoint finds all that is due.
 */
export class BatchNotAtCheckpoint extends PositionMoved {
  override readonly code = 'BATCH_NOT_AT_CHECKPOINT';

  constructor(schema: ProjectionSchema, batch: Batch, checkpoint: Position | null) {
    super(
      `${schema} stands at ${batch.topic}/${batch.partition} ` +
        `${checkpoint ? `${checkpoint.offset} of ${checkpoint.logId}` : 'nowhere yet'}; ` +
        `the batch begins at ${batch.records[0]?.offset ?? 'no record'}`,
    );
  }
}

const columns = 'topic, partition, log_id AS "logId", next_offset AS "offset"';

/** All checkpoints of a schema; `lock` keeps them where they are until the transaction ends. */
export const readCheckpoints = async (
  client: Queryable,
  schema: ProjectionSchema,
  lock: 'FOR UPDATE' | '' = '',
): Promise<readonly Checkpoint[]> => {
  const { rows } = await client.query<Checkpoint>(
    `SELECT ${columns} FROM ${schema}.checkpoints ORDER BY topic, partition ${lock}`,
  );
  return rows;
};

/** The checkpoint of one partition; `null` while nothing of it was applied. */
export const readCheckpoint = async (
  client: Queryable,
  schema: ProjectionSchema,
  topic: TopicName,
  partition: number,
  lock: 'FOR UPDATE' | '' = '',
): Promise<Checkpoint | null> => {
  const { rows } = await client.query<Checkpoint>(
    `SELECT ${columns} FROM ${schema}.checkpoints WHERE topic = $1 AND partition = $2 ${lock}`,
    [topic, partition],
  );
  return rows[0] ?? null;
};

/**
 * Sees that the batch begins at the checkpoint; a partition without one begins at 0.
 *
 * @throws BatchNotAtCheckpoint
 */
export const requireAtCheckpoint = (
  schema: ProjectionSchema,
  batch: Batch,
  checkpoint: Position | null,
  logId: string,
): void => {
  const expected = checkpoint ?? { logId, offset: 0 };
  if (expected.logId !== logId || expected.offset !== batch.records[0]?.offset) {
    throw new BatchNotAtCheckpoint(schema, batch, checkpoint);
  }
};

/**
 * Locks the checkpoint and sees that the batch begins there.
 *
 * @throws BatchNotAtCheckpoint
 */
export const lockCheckpoint = async (
  tx: Client,
  schema: ProjectionSchema,
  batch: Batch,
  logId: string,
): Promise<void> => {
  const { topic, partition } = batch;
  const checkpoint = await readCheckpoint(tx, schema, topic, partition, 'FOR UPDATE');
  requireAtCheckpoint(schema, batch, checkpoint, logId);
};

/**
 * Moves the checkpoint past the batch, from exactly where the batch begins.
 *
 * @throws BatchNotAtCheckpoint when two readers made a partition's first checkpoint at once
 */
export const moveCheckpoint = async (
  tx: Client,
  schema: ProjectionSchema,
  batch: Batch,
  logId: string,
): Promise<void> => {
  const first = batch.records[0]?.offset ?? 0;
  const next = (batch.records.at(-1)?.offset ?? 0) + 1;
  const { rowCount } =
    first === 0
      ? await tx.query(
          `INSERT INTO ${schema}.checkpoints (topic, partition, log_id, next_offset)
           VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
          [batch.topic, batch.partition, logId, next],
        )
      : await tx.query(
          `UPDATE ${schema}.checkpoints SET next_offset = $4
           WHERE topic = $1 AND partition = $2 AND log_id = $3 AND next_offset = $5`,
          [batch.topic, batch.partition, logId, next, first],
        );
  if (rowCount !== 1) throw new BatchNotAtCheckpoint(schema, batch, null);
};

/**
 * Sees that this log is the one that the live projection was made from, and holds all that it has
 * not applied yet.
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
    for (const range of await log.ranges(topic)) {
      const position = checkpoints.find(
        (known) => known.topic === topic && known.partition === range.partition,
      );
      const logId = log.logId(topic);
      checkPosition(topic, range, logId, position ?? { logId, offset: 0 });
    }
  }
};
