import type { Pool } from '../../platform/postgres/pool.js';

/** Ends the current WAL segment, whose remainder PostgreSQL fills with zeros. */
const switchSegment = async (pool: Pool): Promise<void> => {
  // PostgreSQL does not switch a segment without a record.
  await pool.query("SELECT pg_switch_wal() FROM pg_logical_emit_message(false, 'linklog', '')");
};

/**
 * Overwrites old WAL: afterwards, no file of `pg_wal` contains data that was written before the call.
 *
 * A checkpoint recycles old segments: it renames them for later use and keeps their content. Therefore all recycled
 * segments are written after a first checkpoint. Each one is a write of 16 MB; an idle database has about five.
 *
 * The pool's user must be a superuser, and its statement timeout must be longer than a checkpoint.
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
