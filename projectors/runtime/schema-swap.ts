import type { PoolClient } from 'pg';
import type { Client, Queryable } from '../../ops/platform/postgres/pool.js';
import { checkpointOf, ownSchema, readCheckpoints } from './checkpoints.js';
import {
  liveSchema,
  nextSchema,
  previousSchema,
  type ProjectionName,
  type ProjectionSchema,
  type ReplacementSchema,
} from './projection.js';

/** A transaction on a connection that stays with the caller. */
export const transactionOn = async <Result>(
  client: PoolClient,
  work: () => Promise<Result>,
): Promise<Result> => {
  await client.query('BEGIN');
  try {
    const result = await work();
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((cause: unknown) => {
      throw new AggregateError([error, cause], 'A transaction failed, and its rollback too');
    });
    throw error;
  }
};

/** Makes empty copies of a schema's tables in another schema, without references to other tables. */
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
 * Makes a schema with empty copies of another schema's tables; drops what has its name. PostgreSQL
 * names the copies' indexes, so an index keeps its name only if its migration gave it none.
 */
export const cloneSchema = async (
  tx: Client,
  from: ProjectionSchema,
  to: ProjectionSchema,
): Promise<void> => {
  await tx.query(`DROP SCHEMA IF EXISTS ${to} CASCADE; CREATE SCHEMA ${to}`);
  await cloneTables(tx, from, to);
};

/** There is no schema that could replace the live one. */
export class NoPreviousProjection extends Error {
  readonly code = 'NO_PREVIOUS_PROJECTION';
  readonly retryable = false;
}

/** Columns and indexes of a schema's tables, without the names of schemas and indexes. */
const shapeOf = async (client: Queryable, schema: ProjectionSchema): Promise<Set<string>> => {
  const { rows } = await client.query<{ part: string }>(
    `SELECT concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
              CASE WHEN a.attnotnull THEN 'NOT NULL' END) AS part
     FROM pg_namespace n
     JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r'
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE n.nspname = $1
     UNION
     SELECT regexp_replace(indexdef, 'INDEX [^ ]+ ON ' || schemaname || '[.]', 'INDEX ON ')
     FROM pg_indexes WHERE schemaname = $1`,
    [schema],
  );
  return new Set(rows.map(({ part }) => part));
};

/**
 * Checks that a rebuild left the schema that was live before, with the tables that this version
 * knows: a migration changes the live tables only.
 *
 * @throws NoPreviousProjection
 */
export const requirePrevious = async (client: Queryable, name: ProjectionName): Promise<void> => {
  const previous = await shapeOf(client, previousSchema(name));
  if (previous.size === 0) {
    throw new NoPreviousProjection(
      `There is no previous ${name} to go back to: it was not rebuilt yet`,
    );
  }
  const live = await shapeOf(client, liveSchema(name));
  if (live.size === previous.size && [...live].every((part) => previous.has(part))) return;
  throw new NoPreviousProjection(
    `The previous ${name} has other tables than this version of Linklog knows; rebuild it instead`,
  );
};

/**
 * Renames `schema` to the live one and the live one to `…_previous`, in one transaction.
 *
 * A live batch resolves the schema's name in each of its statements, so a renaming in the middle
 * would put its rows in one schema and its checkpoint in another. Therefore each batch begins by
 * sharing the schema lock, and the swap owns that lock. `finish` runs under the lock: it brings
 * `schema` to the live checkpoints.
 */
export const swapIn = async (
  client: PoolClient,
  name: ProjectionName,
  schema: ReplacementSchema,
  finish: () => Promise<void>,
): Promise<void> => {
  const live = liveSchema(name);
  const next = nextSchema(name);
  const previous = previousSchema(name);
  await transactionOn(client, async () => {
    await client.query(ownSchema(name));
    await finish();
    const applied = await readCheckpoints(client, schema);
    for (const { topic, partition, logId, offset } of await readCheckpoints(client, live)) {
      const found = checkpointOf(applied, topic, partition);
      if (found?.logId !== logId || found.offset < offset) {
        throw new Error(
          `${schema} is not at offset ${offset} of ${topic}/${partition} of ${logId}`,
        );
      }
    }
    // A rollback exchanges two names by a third: only an interrupted rebuild leaves a `…_next`.
    if (schema === previous) {
      await client.query(`
        DROP SCHEMA IF EXISTS ${next} CASCADE;
        ALTER SCHEMA ${previous} RENAME TO ${next}`);
    }
    await client.query(`
      DROP SCHEMA IF EXISTS ${previous} CASCADE;
      ALTER SCHEMA ${live} RENAME TO ${previous};
      ALTER SCHEMA ${next} RENAME TO ${live}`);
  });
};
