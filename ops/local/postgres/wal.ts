import type { Pool } from '../../platform/postgres/pool.js';

/** Ends the WAL segment in use. PostgreSQL fills the rest of it with zeros. */
const switchSegment = async (pool: Pool): Promise<void> => {
  // A segment without a record is not switched.
  await pool.query("SELECT pg_switch_wal() FROM pg_logical_emit_message(false, 'linklog', '')");
};

/**
 * Overwrites what the WAL has of the past: nothing that was written before is in a file of `pg_wal` afterwards.
 *
 * A checkpoint recycles old segments: it renames them for later use, with their content. So after a first checkpoint,
 * all segments that wait for use are used. Each costs a write of 16 MB; an idle database has about five.
 *
 * The pool's user must be a superuser. Its statements must have no deadline shorter than a checkpoint.
 */
export const overwriteWal = async (pool: Pool): Promise<void> => {
  await switchSegment(pool);
  await pool.query('CHECKPOINT');
  const { rows } = await pool.query<{ waiting: number }>(
    `SELECT count(*) AS waiting FROM pg_ls_waldir()
     WHERE name ~ '^[0-9A-F]{24}$' AND name > pg_walfile_name(pg_current_wal_insert_lsn())`,
  );
  const waiting = rows[0]?.waiting ?? 0;
  for (let segment = 0; segment <= waiting; segment += 1) await switchSegment(pool);
  await pool.query('CHECKPOINT');
};
