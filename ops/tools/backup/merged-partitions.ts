import type { EventNamed } from '../../../schemas/events/catalogue.js';
import type { TopicName } from '../../../schemas/events/topics.js';
import type { EventLog } from '../../platform/event-log/port.js';
import { transaction, type Pool } from '../../platform/postgres/pool.js';
import type { BackupHead } from './format.js';

/** A visit that a spool numbered, and its text. */
export interface SpooledVisit {
  readonly event: EventNamed<'LinkVisited'>;
  readonly value: string;
}

/**
 * Whether some partition of the log will get what came from several of the backup's. A log with as
 * many partitions, or a multiple of them, fills each of its own from one of those.
 */
export const mergesPartitions = async (
  log: EventLog,
  { topics }: BackupHead,
  topic: TopicName,
): Promise<boolean> => {
  const there = topics.find((known) => known.topic === topic)?.partitions.length ?? 1;
  const here = (await log.ranges(topic)).length;
  return here % there !== 0;
};

const table = 'public.unfinished_restore_visits';
const pageSize = 1_000;

/**
 * Visits on their way into partitions that merge. Within a partition the visits of one spool must
 * ascend by their sequence, for readers take what does not for a repeat; the backup's partitions,
 * one after the other, would not. So they are kept in PostgreSQL until all are there.
 */
export const mergeVisits = async (pool: Pool) => {
  await pool.query(`CREATE UNLOGGED TABLE ${table} (
    source text COLLATE "C", sequence bigint, time timestamptz, key text, value text
  )`);
  return {
    async add(visits: readonly SpooledVisit[]): Promise<void> {
      await pool.query(
        `INSERT INTO ${table} SELECT * FROM
           unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::text[], $5::text[])`,
        [
          visits.map(({ event }) => event.source),
          visits.map(({ event }) => event.sequence),
          visits.map(({ event }) => event.time),
          visits.map(({ event }) => event.subject),
          visits.map(({ value }) => value),
        ],
      );
    },
    /** Appends all of them: those of a spool by their sequence, and all as near to time as that lets. */
    append: (log: EventLog, topic: TopicName): Promise<void> =>
      transaction(pool, async (tx) => {
        // Sorting may take a while, and so may a log that is slow to append.
        await tx.query(`SET LOCAL statement_timeout = 0;
          SET LOCAL idle_in_transaction_session_timeout = 0`);
        await tx.query(`DECLARE merged NO SCROLL CURSOR FOR
          SELECT key, value FROM (
            SELECT *, max(time) OVER (PARTITION BY source ORDER BY sequence) AS latest FROM ${table}
          ) v ORDER BY latest, source, sequence`);
        for (;;) {
          const { rows } = await tx.query<{ key: string; value: string }>(
            `FETCH ${pageSize} FROM merged`,
          );
          if (rows.length === 0) break;
          await log.append(topic, rows);
        }
        await tx.query(`CLOSE merged; DROP TABLE ${table}`);
      }),
  };
};
