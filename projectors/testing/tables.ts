import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { ProjectionSchema } from '../runtime/projection.js';

const tablesOf = async (pool: Pool, schema: ProjectionSchema): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = $1::regnamespace AND relkind = 'r' ORDER BY relname`,
    [schema],
  );
  return rows.map(({ name }) => name);
};

/** Returns the sorted rows of a schema as text, without missing events. */
export const dump = async (
  pool: Pool,
  schema: ProjectionSchema,
): Promise<Record<string, readonly string[]>> => {
  const content: Record<string, readonly string[]> = {};
  for (const table of await tablesOf(pool, schema)) {
    if (table === 'missing_events') continue;
    const { rows } = await pool.query<{ row: string }>(
      `SELECT t::text AS "row" FROM ${schema}.${table} t ORDER BY 1`,
    );
    content[table] = rows.map(({ row }) => row);
  }
  return content;
};

/** Returns the tables, columns, indexes and options of a schema, without its name. */
export const describeSchema = async (pool: Pool, schema: ProjectionSchema): Promise<unknown> => {
  const { rows } = await pool.query(
    `SELECT c.relname, c.relkind, c.reloptions,
            replace(pg_get_indexdef(i.indexrelid), $1 || '.', '') AS definition,
            (SELECT array_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod),
                      attnotnull, attcollation) ORDER BY attnum)
             FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns
     FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
     WHERE c.relnamespace = $1::regnamespace ORDER BY c.relname`,
    [schema],
  );
  return rows;
};

export const emptyTables = async (pool: Pool, schema: ProjectionSchema): Promise<void> => {
  const tables = await tablesOf(pool, schema);
  // Faster than TRUNCATE, which creates a file for each table.
  await pool.query(tables.map((table) => `DELETE FROM ${schema}.${table}`).join(';'));
};
