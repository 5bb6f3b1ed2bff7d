import type { Client } from '../../ops/platform/postgres/pool.js';
import type { ProjectionSchema } from './names.js';

/**
 * Makes tables of a schema in another one, empty, with all that belongs to them but what refers to
 * other tables.
 */
export const cloneTables = async (
  tx: Client,
  from: ProjectionSchema | 'ledger',
  to: ProjectionSchema,
  only?: readonly string[],
): Promise<void> => {
  // LIKE copies everything but the storage parameters, such as the fill factor.
  const { rows } = await tx.query<{ table: string; options: string | null }>(
    `SELECT quote_ident(relname) AS "table", array_to_string(reloptions, ', ') AS options
     FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r'
       AND ($2::text[] IS NULL OR relname = ANY ($2)) ORDER BY relname`,
    [from, only],
  );
  for (const { table, options } of rows) {
    await tx.query(
      `CREATE TABLE ${to}.${table} (LIKE ${from}.${table} INCLUDING ALL)
       ${options === null ? '' : `WITH (${options})`}`,
    );
  }
};

/**
 * Makes a schema with the tables of another one, empty; a leftover of the name goes first. Index
 * names are PostgreSQL's own choice, so tables keep them through any number of rebuilds only if
 * their migration left the choice to PostgreSQL too.
 */
export const cloneSchema = async (
  tx: Client,
  from: ProjectionSchema,
  to: ProjectionSchema,
): Promise<void> => {
  await tx.query(`DROP SCHEMA IF EXISTS ${to} CASCADE; CREATE SCHEMA ${to}`);
  await cloneTables(tx, from, to);
};
