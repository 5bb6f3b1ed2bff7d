import type { Client, Queryable } from '../../ops/platform/postgres/pool.js';
import { projectionNames } from '../projections.js';
import { liveSchema, previousSchema, type ProjectionSchema } from './projection.js';

/** There is no usable previous schema. */
export class NoPreviousProjection extends Error {
  readonly code = 'NO_PREVIOUS_PROJECTION';
}

/** Returns the columns and indexes of a schema's tables, without the names of schemas and indexes. */
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
 * Checks that a previous schema exists and has the tables of this version, because migrations change the live tables only.
 *
 * @throws NoPreviousProjection
 */
export const requirePrevious = async (client: Queryable, name: string): Promise<void> => {
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

/** Stores the current time as the time of the replacement. */
export const noteReplaced = async (tx: Client, name: string): Promise<void> => {
  // COMMENT accepts no expression.
  await tx.query(
    `DO $$ BEGIN
       EXECUTE format('COMMENT ON SCHEMA ${previousSchema(name)} IS %L', clock_timestamp());
     END $$`,
  );
};

/** How long a replaced schema is kept for a rollback (days). */
const retentionDays = 7;

/** Returns the projections whose previous schema is older, or has no time. */
export const namesOfOldPrevious = async (client: Queryable): Promise<readonly string[]> => {
  const { rows } = await client.query<{ schema: string }>(
    `SELECT nspname AS schema FROM pg_namespace
     WHERE nspname = ANY ($1) AND coalesce(obj_description(oid, 'pg_namespace')::timestamptz, 'epoch')
       < clock_timestamp() - make_interval(days => $2)`,
    [projectionNames.map(previousSchema), retentionDays],
  );
  return projectionNames.filter((name) =>
    rows.some(({ schema }) => schema === previousSchema(name)),
  );
};
