import type { PoolClient } from 'pg';
import { applyBatch } from '../../../../projectors/runtime/batch.js';
import { readCheckpoints } from '../../../../projectors/runtime/checkpoints.js';
import {
  liveSchema,
  type Projection,
  type ProjectionSchema,
} from '../../../../projectors/runtime/projection.js';
import { cloneTables } from '../../../../projectors/runtime/rebuild.js';
import type { TopicName } from '../../../../schemas/events/topics.js';
import { addToLedger, ledgerTopics } from '../../../ledger/rebuild/rebuild.js';
import { foldedTables, workingState } from '../../../ledger/rebuild/working-state.js';
import { wholeRanges, type Batch, type EventLog } from '../../../event-log/port.js';
import { readOffsetRange } from '../../../event-log/postgres-batches.js';
import type { Queryable } from '../../../platform/postgres/pool.js';
import { LogSequences } from './log-sequences.js';
import type { Model, RowPosition } from './report.js';

/** Offsets of a partition, from `first` to `next` (exclusive). */
export interface FoldedRange extends Omit<RowPosition, 'offset'> {
  readonly first: number;
  readonly next: number;
  readonly read: (from: number) => AsyncIterable<Batch>;
}

/** A second fold of the log, in temporary tables of a separate session. */
export interface Fold {
  readonly model: Model;
  readonly client: PoolClient;
  /** The schema of the live tables. */
  readonly live: ProjectionSchema | 'ledger';
  /** Tables, and columns by table, that are not compared. */
  readonly ignored: {
    readonly tables: readonly string[];
    readonly columns: Readonly<Record<string, readonly string[]>>;
  };
  /** Returns the ranges that the live tables are a fold of, as the session sees them. */
  readonly ranges: () => Promise<readonly FoldedRange[]>;
  /** Folds a batch, in the session's transaction. */
  readonly add: (batch: Batch) => Promise<void>;
}

/** Folds with the projector's own code, including checkpoints and dead letters. */
export const foldProjection = async (
  client: PoolClient,
  projection: Projection,
  log: EventLog,
): Promise<Fold> => {
  const live = liveSchema(projection.name);
  await cloneTables(client, live, 'pg_temp');
  return {
    model: projection.name,
    client,
    live,
    ignored: {
      // The fold has its own checkpoints and redrives nothing. Missing events are found by `LogSequences`.
      tables: ['checkpoints', 'redriven_days', 'missing_events'],
      // Error messages differ between versions, and a migration has set `raised_on` of old marks.
      columns: { dead_letters: ['error'], high_water_marks: ['raised_on'] },
    },
    async ranges() {
      const checkpoints = await readCheckpoints(client, live);
      return checkpoints.map(({ topic, partition, offset: next }) => ({
        ...{ in: 'log', topic, partition, first: 0, next },
        read: (from) => log.read(topic, partition, from, next),
      }));
    },
    async add(batch) {
      const { topic, partition, records } = batch;
      const [first] = records;
      // A batch after a gap would not begin at the checkpoint.
      if (first && first.offset > 0) {
        await client.query(
          `INSERT INTO pg_temp.checkpoints (topic, partition, log_id, next_offset)
           VALUES ($1, $2, $3, $4)
           ON CONFLICT (topic, partition) DO UPDATE SET next_offset = excluded.next_offset`,
          [topic, partition, log.logId(topic), first.offset],
        );
      }
      await applyBatch(client, { projection, schema: 'pg_temp', log }, batch);
    },
  };
};

/** A partition of the table that is the log, or the outbox before a log on Kafka. */
interface TableEnd extends Omit<RowPosition, 'offset'> {
  readonly id: number;
  readonly next: number;
  /** The end of the records that are in the log: on Kafka, those that the relay has marked as sent. */
  readonly published: number;
}

const tableEnds = async (client: Queryable): Promise<readonly TableEnd[]> => {
  const { rows } = await client.query<TableEnd>(
    `SELECT p.id, p.topic, p.partition, p.next_offset AS next,
            CASE WHEN r IS NULL THEN 'log' ELSE 'outbox' END AS "in",
            coalesce(r.next_offset, p.next_offset) AS published
     FROM log.partitions p LEFT JOIN log.relayed r ON r.partition_id = p.id
     ORDER BY p.topic, p.partition`,
  );
  return rows;
};

/** Returns the ranges of a log on Kafka; none of the embedded log, which is the table. @throws LogIncomplete */
const kafkaRanges = async (
  log: EventLog,
  topic: TopicName,
  table: readonly TableEnd[],
): Promise<readonly FoldedRange[]> => {
  const ranges = await wholeRanges(log, topic);
  if (table.some((end) => end.topic === topic && end.in === 'log')) return [];
  return ranges.map(({ partition, next }) => ({
    ...{ in: 'log', topic, partition, first: 0, next },
    read: (from) => log.read(topic, partition, from, next),
  }));
};

export const foldLedger = async (client: PoolClient, log: EventLog) => {
  await cloneTables(client, 'ledger', 'pg_temp', foldedTables);
  await client.query('INSERT INTO pg_temp.platform DEFAULT VALUES');
  const sequences = await LogSequences.open(client);
  // Read before the ends of the log, so that all records up to `published` are in the log.
  const before = await tableEnds(client);
  const published = new Map(before.map((end) => [end.id, end.published]));
  const inKafka = new Map<TopicName, readonly FoldedRange[]>();
  for (const topic of ledgerTopics) inKafka.set(topic, await kafkaRanges(log, topic, before));
  const fold: Fold = {
    model: 'ledger',
    client,
    live: 'ledger',
    ignored: {
      tables: ['log_sequences'],
      // `other_months` depends on when each month became the current one.
      columns: {
        ...workingState.columns,
        key_meters: [...workingState.columns.key_meters, 'other_months'],
      },
    },
    /** The log up to its first ends, then the table, because only the table has a snapshot. */
    async ranges() {
      const ends = await tableEnds(client);
      return ledgerTopics.flatMap((topic) => [
        ...(inKafka.get(topic) ?? []),
        ...ends
          .filter((end) => end.topic === topic)
          .map((end): FoldedRange => ({
            ...end,
            first: end.in === 'log' ? 0 : (published.get(end.id) ?? 0),
            read: (from) => readOffsetRange(client, end, from, end.next),
          })),
      ]);
    },
    async add(batch) {
      await sequences.add(batch);
      await addToLedger(client, 'pg_temp', batch.topic, batch.records);
    },
  };
  return {
    fold,
    sequences,
    /**
     * Adds the usage that has no event yet: the calls of open minutes, and the beginning of a key's month. Runs in the
     * transaction that compares the live tables.
     */
    async addOpenMinutes(): Promise<void> {
      // An unmetered call begins a month without an event. A month after the current one is valid only if events have
      // it, because a clock was ahead.
      await client.query(`
        UPDATE pg_temp.key_meters m
        SET month = e.month,
            month_calls = CASE WHEN m.month = e.month THEN m.month_calls
              ELSE coalesce((e.counts ->> 0)::bigint, 0) END + coalesce(
              (SELECT sum(u.calls) FROM ledger.usage_minutes u
               WHERE u.key_id = m.key_id
                 AND date_trunc('month', u.minute AT TIME ZONE 'UTC')::date = e.month), 0),
            month_links = CASE WHEN m.month = e.month THEN m.month_links
              ELSE coalesce((e.counts ->> 1)::bigint, 0) END,
            month_qr_codes = CASE WHEN m.month = e.month THEN m.month_qr_codes
              ELSE coalesce((e.counts ->> 2)::bigint, 0) END
        FROM (
          SELECT f.key_id, t.month, f.other_months -> t.month::text AS counts
          FROM pg_temp.key_meters f JOIN ledger.key_meters l USING (key_id)
          CROSS JOIN (
            SELECT date_trunc('month', clock_timestamp() AT TIME ZONE 'UTC')::date AS current
          ) clock
          CROSS JOIN LATERAL (
            SELECT CASE WHEN f.month > current THEN least(f.month, l.month)
                        ELSE greatest(f.month, least(l.month, current)) END AS month
          ) t
        ) e
        WHERE e.key_id = m.key_id`);
    },
  };
};
