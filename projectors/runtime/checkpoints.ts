import {
  checkPosition,
  PositionMoved,
  type Delivery,
  type EventLog,
  type Position,
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

/** The position of a reader of the log in one partition: the next offset that it will apply. */
export interface Checkpoint extends Position {
  readonly topic: TopicName;
  readonly partition: number;
}

/**
 * A batch does not begin at the checkpoint: another reader moved it, or a rebuild was swapped in.
 * Reading on from the checkpoint finds everything that is due.
 */
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
 * The statement that keeps a projection's schema from being renamed until the transaction ends. It
 * must be the first of a batch: only later statements resolve the schema's name anew.
 */
export const shareSchema = (name: ProjectionName): string =>
  `SELECT pg_advisory_xact_lock_shared(${advisoryLocks.projectionSchema}, ${lockNumber(name)})`;

/** The statement that waits until no batch is in flight, and lets none begin before the commit. */
export const ownSchema = (name: ProjectionName): string =>
  `SELECT pg_advisory_xact_lock(${advisoryLocks.projectionSchema}, ${lockNumber(name)})`;

const selectCheckpoints = (schema: ProjectionSchema): string =>
  `SELECT topic, partition, log_id AS "logId", next_offset AS "offset" FROM ${schema}.checkpoints`;

/** All checkpoints of a schema; `FOR UPDATE` locks them until the transaction ends. */
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

/** The checkpoint of a partition among those of a schema. */
export const checkpointOf = (
  checkpoints: readonly Checkpoint[],
  topic: TopicName,
  partition: number,
): Checkpoint | undefined =>
  checkpoints.find((known) => known.topic === topic && known.partition === partition);

/** The checkpoint of one partition; `null` while nothing of it was applied. */
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

/**
 * Checks that the batch begins at the checkpoint. `FOR UPDATE` locks the checkpoint until the transaction ends.
 *
 * @throws BatchNotAtCheckpoint
 */
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

/**
 * Checks that batches of several partitions begin at their checkpoints, and locks all checkpoints of the schema until
 * the transaction ends.
 *
 * @throws BatchNotAtCheckpoint
 */
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
 * Moves the checkpoints past batches of several partitions, each from exactly where its batch begins.
 *
 * @throws BatchNotAtCheckpoint when two readers made a partition's first checkpoint at once
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
  const places = (some: typeof moves) => valuesByField(some, 'topic', 'partition', 'logId', 'next');
  const begun = moves.filter(({ first }) => first > 0);
  const fresh = moves.filter(({ first }) => first === 0);
  const results = await Promise.all([
    begun.length > 0
      ? tx.query({
          name: `checkpoints-move-${schema}`,
          text: `UPDATE ${schema}.checkpoints c SET next_offset = next
                 FROM unnest($1::text[], $2::integer[], $3::text[], $4::bigint[], $5::bigint[])
                   AS m (topic, partition, log_id, next, first)
                 WHERE c.topic = m.topic AND c.partition = m.partition AND c.log_id = m.log_id
                   AND next_offset = first`,
          values: [...places(begun), ...valuesByField(begun, 'first')],
        })
      : null,
    fresh.length > 0
      ? tx.query(
          `INSERT INTO ${schema}.checkpoints (topic, partition, log_id, next_offset)
           SELECT * FROM unnest($1::text[], $2::integer[], $3::text[], $4::bigint[])
           ON CONFLICT DO NOTHING`,
          places(fresh),
        )
      : null,
  ]);
  const moved = results.reduce((sum, result) => sum + (result?.rowCount ?? 0), 0);
  const [batch] = batches;
  if (batch && moved !== batches.length) throw new BatchNotAtCheckpoint(schema, batch, null);
};

/**
 * Checks that the live projection was made from this log, and that the log holds everything that the
 * projection has not applied yet.
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
