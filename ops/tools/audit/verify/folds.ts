import pLimit from 'p-limit';
import type { PoolClient } from 'pg';
import { applyBatch } from '../../../../projectors/runtime/batch.js';
import { catchUp, joined } from '../../../../projectors/runtime/catch-up.js';
import { readCheckpoints, type Checkpoint } from '../../../../projectors/runtime/checkpoints.js';
import {
  liveSchema,
  type Projection,
  type ProjectionSchema,
} from '../../../../projectors/runtime/projection.js';
import { cloneTables } from '../../../../projectors/runtime/rebuild.js';
import { addToLedger, ledgerTopics } from '../../../ledger/rebuild/rebuild.js';
import { foldedTables, workingState } from '../../../ledger/rebuild/working-state.js';
import type { Batch, EventLog } from '../../../event-log/port.js';
import type { Pool } from '../../../platform/postgres/pool.js';
import { LogSequences } from './log-sequences.js';
import {
  batchSize,
  detectGaps,
  offsetIn,
  readTable,
  type OffsetRange,
  type TableRange,
} from './reading.js';
import { comparedStatistics } from './redriven-days.js';
import type { Gap, Model } from './report.js';

/** A second fold of the log, in temporary tables of a separate session. */
export interface Fold {
  readonly model: Model;
  readonly client: PoolClient;
  /** The schema of the live tables. */
  readonly live: ProjectionSchema | 'ledger';
  /** Tables, and columns by table, that are not compared. */
  readonly ignored: {
    readonly isTable: (name: string) => boolean;
    readonly columns: Readonly<Record<string, readonly string[]>>;
  };
  /** Returns a FROM item with the compared columns of a table, whose qualified name is `rows`. */
  readonly compared: (table: string, rows: string, columns: readonly string[]) => string;
}

const wholeRows: Fold['compared'] = (_table, rows) => rows;

export interface FoldOptions {
  /** Runs the work on one batch, in a new transaction or in the open one. */
  readonly step: <Result>(client: PoolClient, work: () => Promise<Result>) => Promise<Result>;
  readonly onRecords: (count: number) => void;
  readonly onGap: (gap: Gap) => void;
  readonly signal: AbortSignal;
}

/** Folds with the projector's own code, including checkpoints and dead letters. */
export const foldProjection = async (client: PoolClient, projection: Projection, log: EventLog) => {
  const live = liveSchema(projection.name);
  const schema = 'pg_temp';
  await cloneTables(client, live, schema);
  const ownCheckpoints = () => readCheckpoints(client, schema);
  const skipTo = async ({ topic, partition, to }: Omit<OffsetRange, 'from'>): Promise<void> => {
    await client.query(
      `INSERT INTO ${schema}.checkpoints (topic, partition, log_id, next_offset)
       VALUES ($1, $2, $3, $4)
       ON CONFLICT (topic, partition) DO UPDATE SET next_offset = excluded.next_offset`,
      [topic, partition, log.logId(topic), to],
    );
  };
  return {
    model: projection.name,
    client,
    live,
    ignored: {
      // The fold has its own checkpoints and redrives nothing. Missing events are found by `LogSequences`.
      isTable: (name: string) =>
        ['checkpoints', 'redriven_days', 'missing_events', 'spools', 'spool_blocks'].includes(name),
      // Error messages differ between versions, and a migration has set `raised_on` of old marks.
      columns: { dead_letters: ['error'], high_water_marks: ['raised_on'] },
    },
    compared: projection.name === 'stats' ? comparedStatistics : wholeRows,
    /** As the session's snapshot sees them. */
    liveCheckpoints: () => readCheckpoints(client, live),
    ownCheckpoints,
    async foldTo(
      checkpoints: readonly Checkpoint[],
      { step, onRecords, onGap, signal }: FoldOptions,
    ): Promise<void> {
      // The session runs one transaction at a time.
      const oneAtATime = pLimit(1);
      const apply = async (batch: Batch) => {
        const { topic, partition, records } = batch;
        const first = records[0]?.offset ?? 0;
        if (first > offsetIn(await ownCheckpoints(), topic, partition)) {
          await skipTo({ topic, partition, to: first });
        }
        return (await applyBatch(client, { projection, schema, log }, batch)).outcome;
      };
      await catchUp(
        {
          pool: client,
          log: {
            logId: (topic) => log.logId(topic),
            mayRepeatLedger: log.mayRepeatLedger,
            ranges: (topic) => log.ranges(topic),
            read: (topic, partition, from, to) =>
              detectGaps(
                { topic, partition, from, to, in: 'log' },
                log.read(topic, partition, from, to),
                onGap,
              ),
          },
          schema,
          handle: (batch) => oneAtATime(() => step(client, () => apply(batch))),
          onBatch: (_outcome, records) => {
            onRecords(records);
          },
          skipTo: (target) => oneAtATime(() => step(client, () => skipTo(target))),
          signal,
        },
        checkpoints.map(({ topic, partition, offset }) => ({ topic, partition, to: offset })),
      );
    },
  };
};

export type ProjectionFold = Awaited<ReturnType<typeof foldProjection>>;

export const foldLedger = async (client: PoolClient, log: EventLog) => {
  await cloneTables(client, 'ledger', 'pg_temp', foldedTables);
  await client.query('INSERT INTO pg_temp.platform DEFAULT VALUES');
  const sequences = await LogSequences.open(client);
  return {
    model: 'ledger' as const,
    client,
    live: 'ledger' as const,
    ignored: {
      isTable: (name: string) => !(foldedTables as readonly string[]).includes(name),
      // `other_months` depends on when each month became the current one.
      columns: {
        ...workingState.columns,
        key_meters: [...workingState.columns.key_meters, 'other_months'],
      },
    },
    compared: wholeRows,
    sequences,
    /** Folds ranges of the log, then of the table, by topic, because each topic refers to the topics before it. */
    async foldAll(
      ranges: { readonly log: readonly OffsetRange[]; readonly table: readonly TableRange[] },
      { step, onRecords, onGap, signal }: FoldOptions,
    ): Promise<void> {
      const fold = async (batches: AsyncIterable<Batch>): Promise<void> => {
        for await (const batch of batches) {
          const { topic, records } = batch;
          signal.throwIfAborted();
          await step(client, async () => {
            await sequences.add(batch);
            await addToLedger(client, 'pg_temp', topic, records);
          });
          onRecords(records.length);
        }
      };
      for (const topic of ledgerTopics) {
        for (const range of ranges.log.filter((known) => known.topic === topic)) {
          const batches = joined(log.read(topic, range.partition, range.from, range.to), batchSize);
          await fold(detectGaps({ ...range, in: 'log' }, batches, onGap));
        }
        for (const range of ranges.table.filter((known) => known.topic === topic)) {
          await fold(detectGaps(range, readTable(client, range), onGap));
        }
      }
    },
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

/**
 * Comparisons of large tables exceed the services' timeouts, and sessions wait for each other. Cached plans
 * would be those of empty tables.
 */
const settings = `
  SET statement_timeout = 0;
  SET idle_in_transaction_session_timeout = 0;
  SET temp_buffers = '32MB';
  SET plan_cache_mode = force_custom_plan;
  SET timezone = 'UTC'`;

/** Runs `work` with connections that are closed afterwards, which drops their temporary tables and open transactions. */
export const withSessions = async <Result>(
  pool: Pool,
  work: (open: () => Promise<PoolClient>) => Promise<Result>,
): Promise<Result> => {
  const clients: PoolClient[] = [];
  const open = async (): Promise<PoolClient> => {
    const client = await pool.connect();
    clients.push(client);
    await client.query(settings);
    return client;
  };
  try {
    return await work(open);
  } finally {
    for (const client of clients) client.release(true);
  }
};

/** Begins a transaction with the same snapshot in each session. */
export const beginTogether = async (clients: readonly PoolClient[]): Promise<void> => {
  let snapshot: string | undefined;
  for (const client of clients) {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    if (snapshot === undefined) {
      const { rows } = await client.query<{ id: string }>('SELECT pg_export_snapshot() AS id');
      snapshot = rows[0]?.id ?? '';
    } else {
      await client.query(`SET TRANSACTION SNAPSHOT '${snapshot}'`);
    }
  }
};
