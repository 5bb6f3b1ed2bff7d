import type { Batch } from '../../ops/platform/event-log/port.js';
import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import {
  lockCheckpoint,
  moveCheckpoint,
  readCheckpoint,
  requireAtCheckpoint,
} from '../runtime/checkpoints.js';
import { blockedSubjects, insertDeadLetters, type DeadLetter } from '../runtime/dead-letters.js';
import {
  dropRepeats,
  readHighWaterMarks,
  writeHighWaterMarks,
  type HighWaterMarks,
} from '../runtime/high-water-marks.js';
import { archiveSchema } from '../runtime/names.js';
import type { Reading } from '../runtime/readings.js';
import { streamOf } from './archived-event.js';

/** By stream, the revision of its next event. */
export type Revisions = ReadonlyMap<string, number>;

/** What is due of a batch, by its progress. */
export interface Due {
  /** Without repeats. */
  readonly readings: readonly Reading[];
  readonly raised: HighWaterMarks;
  /** Subjects that have dead letters. */
  readonly blocked: Set<string>;
  readonly revisions: Revisions;
}

const readRevisions = async (
  tx: Client,
  { topic, partition }: Batch,
  readings: readonly Reading[],
): Promise<Revisions> => {
  const streams = readings.flatMap((reading) =>
    'event' in reading ? [streamOf(reading.event)] : [],
  );
  const { rows } = await tx.query<{ stream: string; next: number }>(
    `SELECT stream, next_revision AS next FROM ${archiveSchema}.streams
     WHERE topic = $1 AND partition = $2 AND stream = ANY ($3::text[])`,
    [topic, partition, [...new Set(streams)]],
  );
  return new Map(rows.map(({ stream, next }) => [stream, next]));
};

/**
 * Reads the progress that concerns a batch, all of one moment: marks or revisions of a later one would
 * give its events other places.
 *
 * @throws BatchNotAtCheckpoint
 */
export const readProgress = (
  pool: Pool,
  batch: Batch,
  logId: string,
  all: readonly Reading[],
): Promise<Due> =>
  transaction(pool, async (tx) => {
    await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    const { topic, partition } = batch;
    const checkpoint = await readCheckpoint(tx, archiveSchema, topic, partition);
    requireAtCheckpoint(archiveSchema, batch, checkpoint, logId);
    const marks = await readHighWaterMarks(tx, archiveSchema, topic, partition, all);
    const { fresh, raised } = dropRepeats(all, marks);
    return {
      readings: fresh,
      raised,
      blocked: await blockedSubjects(tx, archiveSchema, topic, fresh),
      revisions: await readRevisions(tx, batch, fresh),
    };
  });

/**
 * Writes down that a batch is archived.
 *
 * @throws BatchNotAtCheckpoint when another archiver has done so meanwhile: it found the same
 */
export const writeProgress = (
  pool: Pool,
  batch: Batch,
  logId: string,
  done: {
    readonly raised: HighWaterMarks;
    readonly revisions: Revisions;
    readonly letters: readonly DeadLetter[];
  },
): Promise<void> =>
  transaction(pool, async (tx) => {
    const { topic, partition } = batch;
    // A crash of PostgreSQL may take the last batches back, as a whole: they are archived once more.
    await tx.query('SET LOCAL synchronous_commit = off');
    await lockCheckpoint(tx, archiveSchema, batch, logId);
    await insertDeadLetters(tx, archiveSchema, topic, partition, done.letters);
    await writeHighWaterMarks(tx, archiveSchema, topic, partition, done.raised);
    await tx.query(
      `INSERT INTO ${archiveSchema}.streams (topic, partition, stream, next_revision)
       SELECT $1, $2, * FROM unnest($3::text[], $4::bigint[])
       ON CONFLICT (topic, partition, stream) DO UPDATE SET next_revision = excluded.next_revision`,
      [topic, partition, [...done.revisions.keys()], [...done.revisions.values()]],
    );
    await moveCheckpoint(tx, archiveSchema, batch, logId);
  });
