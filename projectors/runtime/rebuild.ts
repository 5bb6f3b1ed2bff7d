import type { PoolClient } from 'pg';
import type { EventLog } from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import { advisoryLocks } from '../../ops/platform/postgres/advisory-locks.js';
import { withConnection, type Pool } from '../../ops/platform/postgres/pool.js';
import { createBatchHandler, type BatchOutcome } from './batch.js';
import { catchUp, catchUpBatchSize, endsOf, type CatchUpTarget } from './catch-up.js';
import { readCheckpoints, requireKnownCheckpoints } from './checkpoints.js';
import {
  liveSchema,
  lockNumber,
  nextSchema,
  previousSchema,
  type Projection,
  type ProjectionName,
  type ReplacementSchema,
} from './projection.js';
import { cloneSchema, requirePrevious, swapIn, transactionOn } from './schema-swap.js';

/** Another process rebuilds this projection now. */
export class RebuildRunning extends Error {
  readonly code = 'REBUILD_RUNNING';
  readonly retryable = true;

  constructor(name: ProjectionName) {
    super(`The projection ${name} is being rebuilt already; wait until that has ended`);
  }
}

export interface RebuildOptions {
  /** At most three of its connections are used. */
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly projection: Projection;
  /** Gets the number of records applied, and of records there are, which grows with the log. */
  readonly progress?: (done: number, total: number) => void;
  /** Ends the rebuild: the new tables are dropped, and the live projection stays as it is. */
  readonly signal?: AbortSignal;
}

/** A log that grows as fast as it is read never ends: the rest is applied under the swap's lock. */
const roundsAtMost = 10;

/**
 * Runs `work` with a connection that holds the projection's rebuild lock. The lock ends with the
 * connection, so whatever only one rebuild may do is done on this connection.
 *
 * @throws RebuildRunning
 */
export const withRebuildLock = <Result>(
  pool: Pool,
  name: ProjectionName,
  work: (client: PoolClient) => Promise<Result>,
): Promise<Result> =>
  withConnection(pool, async (client, onBroken) => {
    const lock = [advisoryLocks.projectionRebuild, lockNumber(name)];
    const { rows } = await client.query<{ taken: boolean }>(
      'SELECT pg_try_advisory_lock($1, $2) AS taken',
      lock,
    );
    if (rows[0]?.taken !== true) throw new RebuildRunning(name);
    try {
      return await work(client);
    } finally {
      // If this fails, the connection is closed, and the lock goes with it.
      await client.query('SELECT pg_advisory_unlock($1, $2)', lock).catch(onBroken);
    }
  });

/** Brings `schema` to the end of the log and to the live checkpoints, and swaps it in. */
const catchUpAndSwap = async (
  client: PoolClient,
  schema: ReplacementSchema,
  options: RebuildOptions,
): Promise<BatchOutcome> => {
  const { pool, log, projection, progress, signal } = options;
  const live = liveSchema(projection.name);
  const sum = { applied: 0, repeats: 0, deadLetters: 0, parked: 0 };
  let done = (await readCheckpoints(client, schema)).reduce((all, { offset }) => all + offset, 0);
  let total = 0;
  const handle = createBatchHandler({ ...options, schema });
  const onBatch = (outcome: BatchOutcome, records: number): void => {
    sum.applied += outcome.applied;
    sum.repeats += outcome.repeats;
    sum.deadLetters += outcome.deadLetters;
    sum.parked += outcome.parked;
    done += records;
    progress?.(done, Math.max(done, total));
  };
  const catchUpTo = async (targets: readonly CatchUpTarget[]): Promise<void> => {
    const ends = targets.reduce((records, { to }) => records + to, 0);
    total = Math.max(total, ends);
    progress?.(done, total);
    await catchUp({ pool, log, schema, handle, onBatch, signal }, targets);
  };

  for (let round = 0; round < roundsAtMost; round += 1) {
    const before = done;
    await catchUpTo(await endsOf(log, projection));
    if (done - before <= catchUpBatchSize) break;
  }
  await swapIn(client, projection.name, schema, async () => {
    const checkpoints = await readCheckpoints(client, live, 'FOR UPDATE');
    await catchUpTo(checkpoints.map(({ offset, ...rest }) => ({ ...rest, to: offset })));
  });
  return sum;
};

/**
 * Builds a projection again from the log's first record, beside the live one, and swaps it in; the
 * old one stays as `…_previous`. The live projector may run meanwhile: it waits for the swap, finds
 * that its batch is not at the checkpoint, and reads on from there.
 *
 * @throws RebuildRunning
 * @throws ForeignPosition when the live projection was made from another log, or this log is cut
 * @throws the signal's reason, only when the signal ended the rebuild
 */
export const rebuild = async (options: RebuildOptions): Promise<BatchOutcome> => {
  const { pool, log, logger, projection, signal } = options;
  const schema = nextSchema(projection.name);
  return withRebuildLock(pool, projection.name, async (client) => {
    await requireKnownCheckpoints(client, log, projection);
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
 * Undoes a rebuild: swaps `…_previous` in, and the live projection becomes `…_previous`, so that
 * this can be undone too. First brings `…_previous` to the live checkpoints, so nothing is missing
 * at any moment. When the signal ends this, the live projection is as it was.
 *
 * @throws NoPreviousProjection; and what `rebuild` throws
 */
export const rollBack = async (options: RebuildOptions): Promise<BatchOutcome> => {
  const { pool, log, projection } = options;
  return withRebuildLock(pool, projection.name, async (client) => {
    await requireKnownCheckpoints(client, log, projection);
    await requirePrevious(client, projection.name);
    return catchUpAndSwap(client, previousSchema(projection.name), options);
  });
};
