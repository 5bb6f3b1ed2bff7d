import { topics, type TopicName } from '../../schemas/events/topics.js';
import type { TopicPartition } from './port.js';
import { valuesByField, type Pool } from '../platform/postgres/pool.js';

/** A row of `log.partitions`. */
export interface KnownPartition extends TopicPartition {
  readonly id: number;
}

/** The number of partitions is fixed, because another one would break the order of each key. */
export class PartitionsDiffer extends Error {
  readonly code = 'PARTITIONS_DIFFER';
}

/** Returns the partitions of each topic, and creates those of new topics. @throws PartitionsDiffer */
export const loadPartitions = async (
  pool: Pool,
): Promise<ReadonlyMap<TopicName, KnownPartition[]>> => {
  const wanted = Object.values(topics).flatMap(({ name, partitions }) =>
    Array.from({ length: partitions }, (_, partition) => ({ name, partition })),
  );
  await pool.query(
    `INSERT INTO log.partitions (id, topic, partition)
     SELECT (SELECT coalesce(max(id), 0) FROM log.partitions) + row_number() OVER (), topic, partition
     FROM unnest($1::text[], $2::smallint[]) AS wanted (topic, partition)
     WHERE topic NOT IN (SELECT topic FROM log.partitions)
     ON CONFLICT DO NOTHING`,
    valuesByField(wanted, 'name', 'partition'),
  );
  const { rows } = await pool.query<KnownPartition>(
    'SELECT id, topic, partition FROM log.partitions ORDER BY topic, partition',
  );
  const known = new Map<TopicName, KnownPartition[]>();
  for (const { name, partitions } of Object.values(topics)) {
    const found = rows.filter(({ topic }) => topic === name);
    if (found.length !== partitions) {
      throw new PartitionsDiffer(
        `The log has ${found.length} partitions of ${name}, this version needs ${partitions}`,
      );
    }
    known.set(name, found);
  }
  return known;
};
