import type { PoolClient } from 'pg';
import { wholeRanges, type EventLog } from '../../ops/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import { advisoryLocks } from '../../ops/advisory-locks.js';
import { withAdvisoryLock } from '../../ops/platform/postgres/own-connection.js';
import { transactionOn, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import { rebuildDue } from '../../ops/platform/postgres/generation.js';
import { createBatchHandler, type BatchOutcome } from './batch.js';
import { catchUp, catchUpBatchSize, endsOf, type CatchUpTarget } from './catch-up.js';
import {
  checkpointOf,
  ownSchema,
  readCheckpoints,
  requireKnownCheckpoints,
} from './checkpoints.js';
import { namesOfOldPrevious, noteReplaced, requirePrevious } from './previous.js';
import { copyPrivileges } from './privileges.js';
import { lockNumber, projectionNames } from '../projections.js';
import {
  liveSchema,
  nextSchema,
  previousSchema,
  type Projection,
  type ProjectionSchema,
} from './projection.js';

/** Creates empty copies of a schema's tables in another schema, without foreign keys. */
export const cloneTables = async (
  tx: Client,
  from: ProjectionSchema | 'ledger',
  to: ProjectionSchema,
  only?: readonly string[],
): Promise<void> => {
  // LIKE does not copy storage parameters, such as the fill factor.
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
 * Replaces a schema by empty copies of another schema's tables. PostgreSQL generates the names of the copies' indexes, so
 * migrations must not name indexes explicitly.
 */
export const cloneSchema = async (
  tx: Client,
  from: ProjectionSchema,
  to: ProjectionSchema,
): Promise<void> => {
  await tx.query(`DROP SCHEMA IF EXISTS ${to} CASCADE; CREATE SCHEMA ${to}`);
  await cloneTables(tx, from, to);
  // LIKE does not copy triggers.
  for (const table of ['checkpoints', 'dead_letters']) {
    await tx.query(`SELECT public.fence_table('${to}.${table}')`);
  }
};

/**
 * Renames `schema` to the live one and the live one to `…_previous`, in one transaction.
 *
 * A live batch resolves the schema's name in each statement, so a concurrent rename would put its rows in one schema and
 * its checkpoint in another. Therefore each batch first takes a shared lock, and the swap an exclusive one. `finish` runs
 * under the lock and applies events up to the live checkpoints. Roles keep their privileges.
 */
export const swapIn = async (
  client: PoolClient,
  name: string,
  schema: ProjectionSchema,
  finish: () => Promise<void>,
): Promise<void> => {
  const live = liveSchema(name);
  const next = nextSchema(name);
  const previous = previousSchema(name);
  await transactionOn(client, async () => {
    await client.query(ownSchema(name));
    // Writes no row, but fails if the tables have another generation, and a raise waits for its transaction.
    await client.query(`DELETE FROM ${live}.checkpoints WHERE false`);
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
    await copyPrivileges(client, live, schema);
    // A rollback exchanges the two names via `…_next`, which exists only after an interrupted rebuild.
    if (schema === previous) {
      await client.query(`
        DROP SCHEMA IF EXISTS ${next} CASCADE;
        ALTER SCHEMA ${previous} RENAME TO ${next}`);
    }
    await client.query(`
      DROP SCHEMA IF EXISTS ${previous} CASCADE;
      ALTER SCHEMA ${live} RENAME TO ${previous};
      ALTER SCHEMA ${next} RENAME TO ${live}`);
    await noteReplaced(client, name);
  });
};

export class RebuildRunning extends Error {
  readonly code = 'REBUILD_RUNNING';

  constructor(name: string) {
    super(`The projection ${name} is being rebuilt already; wait until that has ended`);
  }
}

export interface RebuildOptions {
  /** Uses three connections at most. */
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly projection: Projection;
  /** Receives the numbers of applied and of all records, which grows with the log. */
  readonly progress?: (done: number, total: number) => void;
  /** Aborts the rebuild: the new tables are dropped, and the live projection is unchanged. */
  readonly signal?: AbortSignal;
}

/** If the log grows as fast as it is read, the rest is applied under the swap's lock. */
const maxRounds = 10;

/**
 * Runs `work` with a connection that holds the projection's rebuild lock.
 *
 * @throws RebuildRunning
 */
export const withRebuildLock = async <Result>(
  pool: Pool,
  name: string,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> => {
  const lock = [advisoryLocks.projectionRebuild, lockNumber(name)];
  const done = await withAdvisoryLock(pool, lock, async (client) => ({
    result: await work(client),
  }));
  if (done === null) throw new RebuildRunning(name);
  return done.result;
};

export const projectionsBeingRebuilt = async (pool: Pool): Promise<ReadonlySet<string>> => {
  const { rows } = await pool.query<{ number: number }>(
    `SELECT objid::bigint AS number FROM pg_locks
     WHERE locktype = 'advisory' AND granted AND classid = $1
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [advisoryLocks.projectionRebuild],
  );
  const numbers = new Set(rows.map(({ number }) => number));
  return new Set(projectionNames.filter((name) => numbers.has(lockNumber(name))));
};

const catchUpAndSwap = async (
  client: PoolClient,
  schema: ProjectionSchema,
  options: RebuildOptions,
): Promise<BatchOutcome> => {
  const { pool, log, projection, progress, signal } = options;
  const live = liveSchema(projection.name);
  const total = { applied: 0, repeats: 0, deadLetters: 0, parked: 0 };
  let done = (await readCheckpoints(client, schema)).reduce((sum, { offset }) => sum + offset, 0);
  let expected = 0;
  const handle = createBatchHandler({ ...options, schema });
  const onBatch = (outcome: BatchOutcome, records: number): void => {
    total.applied += outcome.applied;
    total.repeats += outcome.repeats;
    total.deadLetters += outcome.deadLetters;
    total.parked += outcome.parked;
    done += records;
    progress?.(done, Math.max(done, expected));
  };
  const catchUpTo = async (targets: readonly CatchUpTarget[]): Promise<void> => {
    const ends = targets.reduce((records, { to }) => records + to, 0);
    expected = Math.max(expected, ends);
    progress?.(done, expected);
    const readers = [{ projection, schema, handle }];
    await catchUp({ pool, log, readers, onBatch, signal }, targets);
  };

  for (let round = 0; round < maxRounds; round += 1) {
    const before = done;
    await catchUpTo(await endsOf(log, projection.topics));
    if (done - before <= catchUpBatchSize) break;
  }
  await swapIn(client, projection.name, schema, async () => {
    const checkpoints = await readCheckpoints(client, live, 'FOR UPDATE');
    await catchUpTo(checkpoints.map(({ offset, ...rest }) => ({ ...rest, to: offset })));
  });
  return total;
};

/**
 * Builds a projection from the log's first record in a second schema and swaps it in. The old schema is kept as
 * `…_previous` for some days. The live projector may run meanwhile: after the swap, its batch is not at the checkpoint,
 * so it resumes from there.
 *
 * @throws RebuildRunning
 * @throws ForeignPosition if the live projection is of another log, or past the end of this one
 * @throws LogIncomplete
 * @throws the signal's reason
 */
export const rebuild = async (options: RebuildOptions): Promise<BatchOutcome> => {
  const { pool, log, logger, projection, signal } = options;
  const schema = nextSchema(projection.name);
  return withRebuildLock(pool, projection.name, async (client) => {
    await requireKnownCheckpoints(client, log, projection);
    for (const topic of projection.topics) await wholeRanges(log, topic);
    try {
      await transactionOn(client, () => cloneSchema(client, liveSchema(projection.name), schema));
      return await catchUpAndSwap(client, schema, options);
    } catch (error) {
      if (signal?.aborted) {
        await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`).catch((err: unknown) => {
          logger.warn({ err, schema }, 'schema of an ended rebuild not dropped; the next drops it');
        });
      }
      throw error;
    }
  });
};

/**
 * Undoes a rebuild: applies the missing events to `…_previous` and exchanges it with the live projection, so that a second
 * rollback undoes the first. If the signal is aborted, the live projection is unchanged.
 *
 * @throws NoPreviousProjection; the errors of `rebuild`
 */
export const rollBack = async (options: RebuildOptions): Promise<BatchOutcome> => {
  const { pool, log, projection } = options;
  return withRebuildLock(pool, projection.name, async (client) => {
    await requireKnownCheckpoints(client, log, projection);
    await requirePrevious(client, projection.name);
    return catchUpAndSwap(client, previousSchema(projection.name), options);
  });
};

/** Rebuilds the projections that a migration has marked and drops their old schemas. Returns their number. */
export const rebuildDueProjections = async (
  options: Omit<RebuildOptions, 'projection'> & { readonly projections: readonly Projection[] },
): Promise<number> => {
  const { pool, logger, signal } = options;
  const { rows } = await pool.query<{ schema: string }>(
    `SELECT nspname AS schema FROM pg_namespace WHERE obj_description(oid, 'pg_namespace') = $1`,
    [rebuildDue],
  );
  let rebuilt = 0;
  for (const projection of options.projections) {
    const { name } = projection;
    if (!rows.some(({ schema }) => schema === liveSchema(name))) continue;
    try {
      logger.info({ projection: name }, 'rebuild begins: this version has other tables');
      await rebuild({ ...options, projection });
      await pool.query(`DROP SCHEMA ${previousSchema(name)} CASCADE`);
      logger.info({ projection: name }, 'rebuild done');
      rebuilt += 1;
    } catch (error) {
      // Another process rebuilds it, or this one stops and the next one starts again.
      if (!(error instanceof RebuildRunning) && signal?.aborted !== true) throw error;
    }
  }
  return rebuilt;
};

/** Drops the previous schemas that are too old for a rollback. Returns their number. @throws RebuildRunning */
export const dropOldPrevious = async (pool: Pool): Promise<number> => {
  let dropped = 0;
  for (const name of await namesOfOldPrevious(pool)) {
    await withRebuildLock(pool, name, async (client) => {
      // A concurrent rollback may have replaced the previous schema.
      if (!(await namesOfOldPrevious(client)).includes(name)) return;
      await client.query(`DROP SCHEMA ${previousSchema(name)} CASCADE`);
      dropped += 1;
    });
  }
  return dropped;
};
