import type { Queryable } from '../../ops/platform/postgres/pool.js';
import { liveSchema, previousSchema, type ProjectionName, type ProjectionSchema } from './names.js';

/** There is nothing that could be put back in the place of the live projection. */
export class NoPreviousProjection extends Error {
  readonly code = 'NO_PREVIOUS_PROJECTION';
  readonly retryable = false;
}

/** What a schema's tables look like, in any order, names of schemas and indexes left out. */
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
 * Sees that a rebuild left what was live before it, and that this version can go on with it: a
 * migration changes the live tables only.
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
