import type { EventLog } from '../../../ops/event-log/port.js';
import { transaction, type Pool } from '../../../ops/platform/postgres/pool.js';
import type { ProjectionWork } from '../../../schemas/events/catalogue.js';
import { topicNames } from '../../../schemas/events/topics.js';
import { readCheckpoints } from '../../runtime/checkpoints.js';
import { readerLag } from '../../runtime/lag.js';
import { NoPreviousProjection } from '../../runtime/previous.js';
import { archiveSchema } from '../../runtime/projection.js';

/** Returns the archive's lag and dead letters, if it is configured here or has copied events of this database. */
export const archiveStatus = async (pool: Pool, log: EventLog, isConfigured: boolean) => {
  if (!isConfigured && (await readCheckpoints(pool, archiveSchema)).length === 0) return [];
  return [{ name: archiveSchema, ...(await readerLag(pool, log, archiveSchema, topicNames)) }];
};

/**
 * Moves the archive's readers to the start of the log (a rebuild), or of each partition with dead letters (a redrive),
 * because the revision of an event depends on all events before it. They skip events that the archive has.
 *
 * @returns the number of events that are read again
 * @throws NoPreviousProjection for a rollback
 */
export const restartArchive = async (pool: Pool, work: ProjectionWork): Promise<number> => {
  if (work === 'rollback') {
    throw new NoPreviousProjection(
      'There is no previous archive to go back to; rebuild it instead',
    );
  }
  const tables = ['streams', 'high_water_marks', 'dead_letters'];
  const affected = `(topic, partition) IN (SELECT topic, partition FROM ${archiveSchema}.dead_letters)`;
  return transaction(pool, async (tx) => {
    // Waits for the transactions of archivers, each of which reads a checkpoint first.
    await tx.query(`LOCK TABLE ${archiveSchema}.checkpoints`);
    const { rows } = await tx.query<{ events: number }>(
      `WITH moved AS (
         DELETE FROM ${archiveSchema}.checkpoints WHERE $1 OR ${affected} RETURNING next_offset
       ) SELECT coalesce(sum(next_offset), 0)::bigint AS events FROM moved`,
      [work === 'rebuild'],
    );
    const clear = work === 'rebuild' ? 'TRUNCATE' : 'DELETE FROM';
    const where = work === 'rebuild' ? '' : `WHERE ${affected}`;
    await tx.query(tables.map((table) => `${clear} ${archiveSchema}.${table} ${where}`).join(';'));
    // The channel of the log moves the readers of a group to their checkpoints.
    await tx.query(`SELECT pg_notify('linklog_log', $1)`, [archiveSchema]);
    return rows[0]?.events ?? 0;
  });
};
