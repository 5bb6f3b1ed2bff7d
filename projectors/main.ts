import { firstFailure } from '../ops/platform/concurrency/deferred.js';
import { oneAtATime } from '../ops/platform/concurrency/one-at-a-time.js';
import { periodically } from '../ops/platform/concurrency/periodic.js';
import type { EventLog, KnownEnd } from '../ops/platform/event-log/port.js';
import type { Logger } from '../ops/platform/logging.js';
import type { Pool } from '../ops/platform/postgres/pool.js';
import type { TopicName } from '../schemas/events/topics.js';
import { projections } from './projections.js';
import { createBatchHandler } from './runtime/batch.js';
import { catchUp, endsOf } from './runtime/catch-up.js';
import { readCheckpoint, requireKnownCheckpoints } from './runtime/checkpoints.js';
import { readerLag, startProjection } from './runtime/live-projection.js';
import { liveSchema, type ProjectionName } from './runtime/projection.js';
import { dropOldPrevious, rebuildDueProjections } from './runtime/rebuild.js';
import { indexForSearch, indexingMemory } from './search/indexer.js';

const searchIndexMs = 10_000;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/**
 * Keeps every projection up to date with the log.
 *
 * @throws ForeignPosition when a projection was made from another log, or the log was cut
 */
export const startProjectors = async (deps: {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
}) => {
  for (const projection of projections) {
    await requireKnownCheckpoints(deps.pool, deps.log, projection);
  }
  const turn = oneAtATime();
  const running = projections.map((projection) => ({
    name: projection.name,
    ...startProjection({ ...deps, projection, turn }),
  }));
  const dropping = periodically({
    name: 'drop previous projections',
    everyMs: hourMs,
    task: () => dropOldPrevious(deps.pool),
    logger: deps.logger,
  });
  const stopping = new AbortController();
  const rebuilding = periodically({
    name: 'rebuild projections',
    everyMs: minuteMs,
    task: () => rebuildDueProjections({ ...deps, projections, signal: stopping.signal }),
    logger: deps.logger,
  });
  const remembered = indexingMemory();
  const indexing = periodically({
    name: 'index links for searches',
    everyMs: searchIndexMs,
    task: () => indexForSearch(deps.pool, deps.log, remembered, stopping.signal),
    logger: deps.logger,
  });
  return {
    /** Never resolves; rejects with what no retry can mend, such as `ForeignPosition`. */
    failed: firstFailure(running.map(({ done }) => done)),
    /** By projection: the age of the oldest event that it was given here and has not applied yet. */
    secondsBehind: (): ReadonlyMap<ProjectionName, number> =>
      new Map(running.map((one) => [one.name, one.secondsBehind()])),
    /** Resolves when no batch is being applied and none will be. */
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all([dropping, rebuilding, indexing, ...running].map((each) => each.stop()));
    },
  };
};

export type Projectors = Awaited<ReturnType<typeof startProjectors>>;

/** How far each projection is behind the log, in records, and its dead letters. */
export const projectionStatus = (pool: Pool, log: EventLog) =>
  Promise.all(
    projections.map(async ({ name, topics }) => ({
      name,
      ...(await readerLag(pool, log, liveSchema(name), topics)),
    })),
  );

/** The offset below which every projection of a topic has applied one of its partitions. */
export const appliedThrough = async (
  pool: Pool,
  topic: TopicName,
  partition: number,
): Promise<number> => {
  const offsets = await Promise.all(
    projections
      .filter(({ topics }) => topics.includes(topic))
      .map(({ name }) => readCheckpoint(pool, liveSchema(name), topic, partition)),
  );
  return Math.min(...offsets.map((position) => position?.offset ?? 0));
};

/** Of each partition, the offset below which some projection has applied it. */
export const appliedEnds = async (pool: Pool): Promise<readonly KnownEnd[]> => {
  const all = projections
    .map(({ name }) => `SELECT topic, partition, next_offset FROM ${liveSchema(name)}.checkpoints`)
    .join(' UNION ALL ');
  const { rows } = await pool.query<KnownEnd>(
    `SELECT topic, partition, max(next_offset) AS next FROM (${all}) c GROUP BY topic, partition`,
  );
  return rows;
};

/** The subjects of a topic that have dead letters in a projection. */
export const subjectsSetAside = async (
  pool: Pool,
  topic: TopicName,
): Promise<readonly string[]> => {
  const letters = projections
    .map(({ name }) => `SELECT subject FROM ${liveSchema(name)}.dead_letters WHERE topic = $1`)
    .join(' UNION ');
  const { rows } = await pool.query<{ subject: string }>(letters, [topic]);
  return rows.map(({ subject }) => subject);
};

/** Brings every projection to the log's end while no projector runs. */
export const catchUpProjections = async (options: {
  /** Two of its connections are used. */
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly progress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal | undefined;
}): Promise<void> => {
  const { pool, log, logger, progress, signal } = options;
  const all = await Promise.all(
    projections.map(async (projection) => ({ projection, targets: await endsOf(log, projection) })),
  );
  const total = all.flatMap(({ targets }) => targets).reduce((sum, { to }) => sum + to, 0);
  let done = 0;
  const onBatch = (_outcome: unknown, records: number): void => {
    done += records;
    progress?.(done, total);
  };
  for (const { projection, targets } of all) {
    const handle = createBatchHandler({ pool, log, logger, projection });
    const schema = liveSchema(projection.name);
    await catchUp({ pool, log, schema, handle, onBatch, signal }, targets);
  }
};
