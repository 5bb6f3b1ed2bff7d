import { firstFailure } from '../ops/platform/concurrency/deferred.js';
import { periodically } from '../ops/platform/concurrency/periodic.js';
import type { EventLog, KnownEnd } from '../ops/event-log/port.js';
import type { Logger } from '../ops/platform/logging.js';
import { groupBy } from '../ops/platform/collections.js';
import type { SequenceState } from '../ops/event-log/outbox/relay.js';
import { transaction, type Pool } from '../ops/platform/postgres/pool.js';
import { topicNames, type TopicName } from '../schemas/events/topics.js';
import { spoolSource } from '../schemas/events/envelope.js';
import type { HealthResponse } from '../schemas/http/health.js';
import { projections } from './projections.js';
import { createBatchHandler, startProjection } from './runtime/batch.js';
import { catchUp, endsOf } from './runtime/catch-up.js';
import { readCheckpoint, requireKnownCheckpoints, shareSchema } from './runtime/checkpoints.js';
import { marksIn } from './runtime/high-water-marks.js';
import { readerLag } from './runtime/lag.js';
import { liveSchema } from './runtime/projection.js';
import { dropOldPrevious, rebuildDueProjections } from './runtime/rebuild.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/**
 * Keeps all projections up to date with the log.
 *
 * @throws ForeignPosition if a projection is of another log, or the log was truncated
 */
export const startProjectors = async (deps: {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
}) => {
  for (const projection of projections) {
    await requireKnownCheckpoints(deps.pool, deps.log, projection);
  }
  const running = projections.map((projection) => ({
    name: projection.name,
    ...startProjection({ ...deps, projection }),
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
  return {
    /** Never resolves. Rejects with an error that a retry cannot fix, such as `ForeignPosition`. */
    failed: firstFailure(running.map(({ done }) => done)),
    /** By projection: the age of the oldest event that this process has received and not applied yet. */
    secondsBehind: (): ReadonlyMap<string, number> =>
      new Map(running.map(({ name, secondsBehind }) => [name, secondsBehind()])),
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all([dropping, rebuilding, ...running].map((part) => part.stop()));
    },
  };
};

export type Projectors = Awaited<ReturnType<typeof startProjectors>>;

/** Returns the lag of each projection in records, and its dead letters. */
export const projectionStatus = (pool: Pool, log: EventLog) =>
  Promise.all(
    projections.map(async ({ name, topics }) => ({
      name,
      ...(await readerLag(pool, log, liveSchema(name), topics)),
    })),
  );

/** Returns the number of events that are missing from the log by topic and origin; empty if none are missing. */
export const missingEvents = async (
  pool: Pool,
): Promise<NonNullable<HealthResponse['missingEvents']>> => {
  const ofProjections = projections
    .filter(({ checksSequencesOf = [] }) => checksSequencesOf.length > 0)
    .map(
      ({ name }) => `SELECT topic, last_sequence - first_sequence + 1 AS events,
                       CASE WHEN starts_with(subject, '${spoolSource('')}') THEN 'spool' ELSE 'subject' END AS origin
                     FROM ${liveSchema(name)}.missing_events`,
    );
  const { rows } = await pool.query<{
    topic: TopicName;
    origin: 'subject' | 'spool';
    events: number;
  }>(
    `SELECT origin, topic, least(sum(events), ${Number.MAX_SAFE_INTEGER})::bigint AS events FROM (
       ${ofProjections.join(' UNION ALL ')}
       UNION ALL SELECT p.topic, 1, 'subject'
       FROM log.unapplied u JOIN log.partitions p ON p.id = u.partition_id WHERE NOT u.overtaken
     ) m GROUP BY origin, topic ORDER BY origin, topic`,
  );
  return rows;
};

/** Returns the state of events of the ledger in one partition. */
export const sequenceStates = async (
  pool: Pool,
  topic: TopicName,
  partition: number,
  events: readonly { readonly subject: string; readonly sequence: number }[],
): Promise<readonly SequenceState[]> => {
  const projection = projections.find((known) => known.checksSequencesOf?.includes(topic));
  if (!projection) throw new Error(`no projection checks the sequences of ${topic}`);
  const schema = liveSchema(projection.name);
  const subjects = [...new Set(events.map(({ subject }) => subject))];
  return transaction(pool, async (tx) => {
    await tx.query(shareSchema(projection.name));
    const stored = marksIn(tx, schema, { topic, partition });
    const marks = await stored.read(subjects);
    const inRows = await projection.sequences?.[topic]?.(tx, schema, subjects);
    const gaps = groupBy(await stored.gaps(subjects), ({ subject }) => subject);
    return events.map(({ subject, sequence }) => {
      const highest = Math.max(marks.get(subject)?.sequence ?? 0, inRows?.get(subject) ?? 0);
      if (sequence > highest) return 'absent';
      const isInGap = gaps
        .get(subject)
        ?.some(({ first, last }) => first <= sequence && sequence <= last);
      return isInGap === true ? 'overtaken' : 'applied';
    });
  });
};

/** Returns the offset up to which every projection of a topic has applied a partition. */
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

/** Returns the highest offset that a projection has applied, by partition. */
export const appliedEnds = async (pool: Pool): Promise<readonly KnownEnd[]> => {
  const checkpoints = projections
    .map(({ name }) => `SELECT topic, partition, next_offset FROM ${liveSchema(name)}.checkpoints`)
    .join(' UNION ALL ');
  const { rows } = await pool.query<KnownEnd>(
    `SELECT topic, partition, max(next_offset) AS next FROM (${checkpoints}) c GROUP BY topic, partition`,
  );
  return rows;
};

/** Returns the subjects of a topic that have dead letters in a projection. */
export const subjectsSetAside = async (
  pool: Pool,
  topic: TopicName,
): Promise<readonly string[]> => {
  const selects = projections
    .map(({ name }) => `SELECT subject FROM ${liveSchema(name)}.dead_letters WHERE topic = $1`)
    .join(' UNION ');
  const { rows } = await pool.query<{ subject: string }>(selects, [topic]);
  return rows.map(({ subject }) => subject);
};

/** Applies the log to every projection while no projector runs. */
export const catchUpProjections = async (options: {
  /** Uses two connections for each projection. */
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly progress?: (done: number, total: number) => void;
  readonly signal?: AbortSignal | undefined;
}): Promise<void> => {
  const { pool, log, logger, progress, signal } = options;
  const readers = projections.map((projection) => ({
    projection,
    schema: liveSchema(projection.name),
    handle: createBatchHandler({ pool, log, logger, projection }),
  }));
  const targets = await endsOf(log, topicNames);
  const readersOf = (topic: TopicName): number =>
    projections.filter(({ topics }) => topics.includes(topic)).length;
  const total = targets.reduce((sum, { topic, to }) => sum + to * readersOf(topic), 0);
  let done = 0;
  const onBatch = (_outcome: unknown, records: number): void => {
    done += records;
    progress?.(done, total);
  };
  await catchUp({ pool, log, readers, onBatch, signal }, targets);
};
