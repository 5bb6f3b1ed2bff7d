import { joined } from '../../../../projectors/runtime/catch-up.js';
import type { TopicName } from '../../../../schemas/events/topics.js';
import type { Batch, EventLog, LogRecord } from '../../../platform/event-log/port.js';
import type { Queryable } from '../../../platform/postgres/pool.js';
import type { Gap, Place } from './report.js';

/**
 * Records in a batch. Each fold parses its own events of it, so what is in memory at once is this many,
 * times the folds, times the partitions that are read at once.
 */
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
  readonly in: Place['in'];
}

/** Hands out the batches without a gap in any of them, and tells of gaps. */
async function* whole(
  { topic, partition, from, to }: Stretch,
  batches: AsyncIterable<Batch>,
  onGap: (gap: Omit<Gap, 'in'>) => void | Promise<void>,
): AsyncGenerator<Batch> {
  let next = from;
  const expect = async (offset: number): Promise<void> => {
    if (offset > next) await onGap({ topic, partition, from: next, to: offset });
    next = offset;
  };
  for await (const { records } of batches) {
    let run: LogRecord[] = [];
    for (const record of records) {
      if (record.offset !== next) {
        if (run.length > 0) yield { topic, partition, records: run };
        run = [];
        await expect(record.offset);
      }
      run.push(record);
      next += 1;
    }
    yield { topic, partition, records: run };
  }
  await expect(to);
}

/** Reads from the log proper. */
export const readLog = (
  log: EventLog,
  stretch: Stretch,
  onGap: (gap: Gap) => void | Promise<void>,
): AsyncGenerator<Batch> => {
  const { topic, partition, from, to } = stretch;
  const batches = joined(log.read(topic, partition, from, to), batchSize);
  return whole(stretch, batches, (gap) => onGap({ ...gap, in: 'log' }));
};

async function* tablePages(
  client: Queryable,
  { topic, partition, partitionId, from, to }: TableStretch,
): AsyncGenerator<Batch> {
  for (let next = from; next < to;) {
    const { rows } = await client.query<LogRecord>(
      `SELECT record_offset AS "offset", key, value FROM log.events
       WHERE partition_id = $1 AND record_offset >= $2 AND record_offset < $3
       ORDER BY record_offset LIMIT ${batchSize}`,
      [partitionId, next, to],
    );
    const last = rows.at(-1);
    if (!last) return;
    yield { topic, partition, records: rows };
    next = last.offset + 1;
  }
}

/** Reads from the table, as the session sees it. */
export const readTable = (
  client: Queryable,
  stretch: TableStretch,
  onGap: (gap: Gap) => void | Promise<void>,
): AsyncGenerator<Batch> =>
  whole(stretch, tablePages(client, stretch), (gap) => onGap({ ...gap, in: stretch.in }));

/** A partition of the table that is the log, or the outbox before a log on Kafka. */
export interface TableEnd {
  readonly partitionId: number;
  readonly topic: TopicName;
  readonly partition: number;
  readonly in: Place['in'];
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
