/** Statements of the compactor on the tables of the embedded log. */
import type { TopicName } from '../../schemas/events/topics.js';
import type { Queryable } from '../platform/postgres/pool.js';
import type { KnownPartition } from './postgres-partitions.js';

export interface CompactedPartition extends KnownPartition {
  readonly next: number;
  /** The offset of the last segment, which may not be full; 0 if there is none. */
  readonly lastSegment: number;
  /** The end of the last segment. */
  readonly compactedTo: number;
}

export const compactedPartitions = async (
  postgres: Queryable,
  topics: readonly TopicName[],
): Promise<readonly CompactedPartition[]> => {
  const { rows } = await postgres.query<CompactedPartition>({
    name: 'log-compacted',
    text: `SELECT p.id, p.topic, p.partition, p.next_offset AS next,
                  coalesce(s.first_offset, 0) AS "lastSegment",
                  coalesce(s.first_offset + s.records, 0) AS "compactedTo"
           FROM log.partitions p LEFT JOIN LATERAL (
             SELECT first_offset, records FROM log.segments WHERE partition_id = p.id
             ORDER BY first_offset DESC LIMIT 1
           ) s ON true
           WHERE p.topic = ANY ($1) ORDER BY p.id`,
    values: [topics],
  });
  return rows;
};

export interface RowSize {
  readonly firstOffset: number;
  readonly records: number;
  readonly isBatch: boolean;
}

/** Returns the first rows of a partition that are between `from` and `to`, in order. */
export const rowSizes = async (
  postgres: Queryable,
  partitionId: number,
  { from, to, atMost }: { readonly from: number; readonly to: number; readonly atMost: number },
): Promise<readonly RowSize[]> => {
  const rowsIn = (table: 'segments' | 'records'): string =>
    `SELECT first_offset AS "firstOffset", records, key IS NULL AS "isBatch" FROM log.${table}
     WHERE partition_id = $1 AND first_offset >= $2 AND first_offset + records <= $3`;
  const { rows } = await postgres.query<RowSize>({
    name: 'log-row-sizes',
    text: `${rowsIn('segments')} UNION ALL ${rowsIn('records')} ORDER BY 1 LIMIT $4`,
    values: [partitionId, from, to, atMost],
  });
  return rows;
};

const rowColumns = 'partition_id, first_offset, records, key, ledger_sequence, value';

/** Moves rows to segments unchanged, without decompressing their values. */
export const moveRows = async (
  postgres: Queryable,
  partitionId: number,
  { first, next }: { readonly first: number; readonly next: number },
): Promise<void> => {
  await postgres.query({
    name: 'log-move-rows',
    text: `WITH moved AS (
             DELETE FROM log.records
             WHERE partition_id = $1 AND first_offset >= $2 AND first_offset < $3 RETURNING *
           )
           INSERT INTO log.segments (${rowColumns}) SELECT ${rowColumns} FROM moved`,
    values: [partitionId, first, next],
  });
};

/**
 * Replaces rows with one segment, in one statement, so that readers find the rows or the segment. A single row is moved
 * unchanged. The statement fails if the rows do not contain all records of the range.
 */
export const makeSegment = async (
  postgres: Queryable,
  partitionId: number,
  { first, next }: { readonly first: number; readonly next: number },
): Promise<void> => {
  const taken = (table: 'segments' | 'records'): string =>
    `DELETE FROM log.${table} WHERE partition_id = $1 AND first_offset >= $2 AND first_offset < $3
     RETURNING first_offset, records, key, ledger_sequence, value`;
  await postgres.query({
    name: 'log-make-segment',
    text: `WITH segment AS (${taken('segments')}), recent AS (${taken('records')}),
                taken AS (TABLE segment UNION ALL TABLE recent)
           INSERT INTO log.segments (${rowColumns})
           SELECT $1, min(first_offset),
                  -- Null violates the constraint if a record is missing.
                  CASE WHEN min(first_offset) = $2 AND sum(records) = $3::bigint - $2 THEN sum(records) END,
                  CASE WHEN count(*) = 1 THEN min(key) END,
                  CASE WHEN count(*) = 1 THEN min(ledger_sequence) END,
                  string_agg(value, E'\n' ORDER BY first_offset)
           FROM taken`,
    values: [partitionId, first, next],
  });
};
