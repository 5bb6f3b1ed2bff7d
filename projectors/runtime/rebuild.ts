import type { PoolClient } from 'pg';
import type { EventLog } from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { createBatchHandler, type BatchOutcome } from './batch.js';
import { catchUp, type Target } from './catch-up.js';
import { readCheckpoints, requireKnownCheckpoints } from './checkpoints.js';
import { cloneSchema } from './clone-schema.js';
import { liveSchema, nextSchema, previousSchema } from './names.js';
import { requirePrevious } from './previous.js';
import type { Projection } from './projection.js';
import { transactionOn, withRebuildLock } from './rebuild-lock.js';
import { swapIn, type ReplacementSchema } from './swap.js';

export { NoPreviousProjection } from './previous.js';
export { RebuildRunning } from './rebuild-lock.js';

export interface RebuildOptions {
  /** Three of its connections are used at most. */
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly projection: Projection;
  /** Hears of records: how many are applied, of how many there are. The latter grows with the log. */
  readonly progress?: (done: number, total: number) => void;
  /** Ends the rebuild: what is built is dropped, and the live projection stays as it is. */
  readonly signal?: AbortSignal;
}

export const batchSize = 5_000;
export const concurrency = 2;
/** A log that grows as fast as it is read is never read to its end: the rest waits for the swap. */
const roundsAtMost = 10;

/** What the log holds of the projection's topics now. */
export const endsOf = async (log: EventLog, projection: Projection): Promise<readonly Target[]> => {
  const targets: Target[] = [];
  for (const topic of projection.topics) {
    for (const { partition, next } of await log.ranges(topic)) {
      targets.push({ topic, partition, to: next });
    }
  }
  return targets;
};

/** Brings `schema` to where the log ends and the live one stands, and puts it in its place. */
const bringIn = async (
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
  const catchUpTo = async (targets: readonly Target[]): Promise<void> => {
    total = Math.max(
      total,
      targets.reduce((records, { to }) => records + to, 0),
    );
    progress?.(done, total);
    const onBatch = (outcome: BatchOutcome): void => {
      sum.applied += outcome.applied;
      sum.repeats += outcome.repeats;
      sum.deadLetters += outcome.deadLetters;
      sum.parked += outcome.parked;
      done += outcome.applied + outcome.repeats + outcome.deadLetters + outcome.parked;
      progress?.(done, Math.max(done, total));
    };
    await catchUp({ pool, log, schema, handle, batchSize, concurrency, onBatch, signal }, targets);
  };

  for (let round = 0; round < roundsAtMost; round += 1) {
    const before = done;
    await catchUpTo(await endsOf(log, projection));
    if (done - before <= batchSize) break;
  }
  await swapIn(client, projection.name, schema, async () => {
    const checkpoints = await readCheckpoints(client, live, 'FOR UPDATE');
    await catchUpTo(checkpoints.map(({ offset, ...rest }) => ({ ...rest, to: offset })));
  });
  return sum;
};

/**
 * Builds a projection again from the log's first record, beside the live one, and puts it in its
 * place; the old one stays as `…_previous`. The live projector may run meanwhile: it waits for the
 * swap, finds that its batch is not at the checkpoint, and reads on from there.
 *
 * @throws RebuildRunning
 * @throws ForeignPosition when the live projection was made from another log, or this log is cut
 * @throws the signal's reason: then, and only then, it was ended by the signal
 */
export const rebuild = async (options: RebuildOptions): Promise<BatchOutcome> => {
  const { pool, log, logger, projection, signal } = options;
  const live = liveSchema(projection.name);
  const schema = nextSchema(projection.name);
  return withRebuildLock(pool, projection.name, async (client) => {
    await requireKnownCheckpoints(client, log, projection);
    try {
      await transactionOn(client, () => cloneSchema(client, live, schema));
      return await bringIn(client, schema, options);
    } catch (error) {
      if (signal?.aborted) {
        await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`).catch((err: unknown) => {
          // It costs room until the next rebuild, and nothing else.
          logger.warn({ err, schema }, 'what an ended rebuild built could not be dropped');
        });
      }
      throw error;
    }
  });
};

/**
 * Undoes a rebuild: puts `…_previous` back in the place of the live projection, which becomes
 * `…_previous` in its turn, so that this can be undone too. What was put aside is first brought to
 * where the live one stands, so there is no moment at which less is known. Ended by the signal, the
 * live projection is as it was.
 *
 * @throws NoPreviousProjection; and what `rebuild` throws
 */
export const rollBack = async (options: RebuildOptions): Promise<BatchOutcome> => {
  const { pool, log, projection } = options;
  return withRebuildLock(pool, projection.name, async (client) => {
    await requireKnownCheckpoints(client, log, projection);
    await requirePrevious(client, projection.name);
    return bringIn(client, previousSchema(projection.name), options);
  });
};
