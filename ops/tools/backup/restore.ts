import { catchUpProjections } from '../../../projectors/main.js';
import type { EventNamed, LinklogEvent } from '../../../schemas/events/catalogue.js';
import { readEvent, UnknownEventType, UnreadableEvent } from '../../../schemas/events/codec.js';
import { ledgerSource } from '../../../schemas/events/envelope.js';
import { topicNames, topics, type TopicName } from '../../../schemas/events/topics.js';
import { rebuildLedger } from '../../ledger/rebuild/rebuild.js';
import { markFinished, markUnfinished } from '../../migrations/migrate.js';
import type { EventLog, RestoredRecord } from '../../event-log/port.js';
import type { Logger } from '../../platform/logging.js';
import { transaction, type Pool } from '../../platform/postgres/pool.js';
import { BadBackup, type BackupBatch, type BackupFile, type BackupHead } from './format.js';

/** What a restore does, one after the other. */
export type RestorePhase = 'check' | 'log' | 'ledger' | 'projections';

export interface RestoreProgress {
  readonly progress?: (phase: RestorePhase, done: number, total: number) => void;
  readonly signal?: AbortSignal | undefined;
}

const isKnownTopic = (topic: string): topic is TopicName =>
  (topicNames as readonly string[]).includes(topic);

/**
 * An event, or `null` for a record that holds none: projections have set it aside before, and will.
 *
 * @throws UnknownEventType
 */
const eventOf = (value: string): LinklogEvent | null => {
  try {
    return readEvent(value);
  } catch (error) {
    if (error instanceof UnreadableEvent && !(error instanceof UnknownEventType)) return null;
    throw error;
  }
};

/** Hands out every batch, and says how far it is. */
const readAll = async (
  backup: BackupFile,
  phase: RestorePhase,
  { progress, signal }: RestoreProgress,
  take: (batch: BackupBatch) => Promise<void>,
): Promise<void> => {
  let done = 0;
  progress?.(phase, done, backup.total);
  await backup.read(async (batch) => {
    await take(batch);
    done += batch.records.length;
    progress?.(phase, done, backup.total);
  }, signal);
};

/**
 * Reads all of a backup and changes nothing: that it is whole, and that this version knows all that
 * is in it.
 *
 * @throws BadBackup
 */
export const checkBackup = async (
  backup: BackupFile,
  { file, ...options }: RestoreProgress & { readonly file: string },
): Promise<void> => {
  const later = (what: string): BadBackup =>
    new BadBackup(
      `${file} was written by a later version of Linklog (${backup.head.linklog}): this one does ` +
        `not know ${what}`,
    );
  await readAll(backup, 'check', options, ({ topic, records }) => {
    if (!isKnownTopic(topic)) throw later(`the topic ${topic}`);
    for (const { value } of records) {
      try {
        eventOf(value);
      } catch (error) {
        throw error instanceof UnknownEventType ? later(`events of type ${error.type}`) : error;
      }
    }
    return Promise.resolve();
  });
};

/** What a spool numbered; everything else is numbered by its subject, or not at all. */
const isSpooled = (event: LinklogEvent | null): event is EventNamed<'LinkVisited'> =>
  event?.type === 'linklog.LinkVisited.v2' && event.source !== ledgerSource;

/** A visit that a spool numbered, and its text. */
interface SpooledVisit {
  readonly event: EventNamed<'LinkVisited'>;
  readonly value: string;
}

/**
 * Whether some partition of the log gets records of several partitions of the backup. It does not in a
 * log with as many partitions, or a multiple of them.
 */
const mergesPartitions = async (
  log: EventLog,
  { topics }: BackupHead,
  topic: TopicName,
): Promise<boolean> => {
  const there = topics.find((known) => known.topic === topic)?.partitions.length ?? 1;
  const here = (await log.ranges(topic)).length;
  return here % there !== 0;
};

const table = 'public.unfinished_restore_visits';
const pageSize = 1_000;

/**
 * Keeps the visits for partitions that merge in PostgreSQL until all of them are there. In a partition
 * the visits of one spool must ascend by their sequence: readers drop the others as repeats. Appended
 * partition by partition of the backup, they would not ascend.
 */
const mergeVisits = async (pool: Pool) => {
  await pool.query(`CREATE UNLOGGED TABLE ${table} (
    source text COLLATE "C", sequence bigint, time timestamptz, key text, value text
  )`);
  return {
    async add(visits: readonly SpooledVisit[]): Promise<void> {
      await pool.query(
        `INSERT INTO ${table} SELECT * FROM
           unnest($1::text[], $2::bigint[], $3::timestamptz[], $4::text[], $5::text[])`,
        [
          visits.map(({ event }) => event.source),
          visits.map(({ event }) => event.sequence),
          visits.map(({ event }) => event.time),
          visits.map(({ event }) => event.subject),
          visits.map(({ value }) => value),
        ],
      );
    },
    /** Appends all of them: those of a spool by their sequence, and otherwise by their time. */
    append: (log: EventLog, topic: TopicName): Promise<void> =>
      transaction(pool, async (tx) => {
        // Sorting may take a while, and so may a log that is slow to append.
        await tx.query(`SET LOCAL statement_timeout = 0;
          SET LOCAL idle_in_transaction_session_timeout = 0`);
        await tx.query(`DECLARE merged NO SCROLL CURSOR FOR
          SELECT key, value FROM (
            SELECT *, max(time) OVER (PARTITION BY source ORDER BY sequence) AS latest FROM ${table}
          ) v ORDER BY latest, source, sequence`);
        for (;;) {
          const { rows } = await tx.query<{ key: string; value: string }>(
            `FETCH ${pageSize} FROM merged`,
          );
          if (rows.length === 0) break;
          await log.append(topic, rows);
        }
        await tx.query(`CLOSE merged; DROP TABLE ${table}`);
      }),
  };
};

/** Fills the log with the backup's records, through its port: it may have other partitions. */
const fillLog = async (
  { pool, log }: { readonly pool: Pool; readonly log: EventLog },
  backup: BackupFile,
  options: RestoreProgress,
): Promise<void> => {
  const visits = topics.visits.name;
  const merged = (await mergesPartitions(log, backup.head, visits))
    ? await mergeVisits(pool)
    : null;
  let appended = Promise.resolve();
  await readAll(backup, 'log', options, async ({ topic, records }) => {
    if (!isKnownTopic(topic)) throw new Error(`The topic ${topic} was not checked`);
    const spooled: SpooledVisit[] = [];
    const next: RestoredRecord[] = [];
    for (const { key, value } of records) {
      const event = eventOf(value);
      if (merged && isSpooled(event)) spooled.push({ event, value });
      else {
        const ledgerSequence = event?.source === ledgerSource ? event.sequence : null;
        next.push({ key, value, ledgerSequence });
      }
    }
    // One after the other: a key's records are in one partition of the backup, and keep their order.
    await appended;
    await merged?.add(spooled);
    appended = log.append(topic, next);
    // Its failure is told at the next batch, or at the end; until then nobody waits for it.
    appended.catch(() => undefined);
  });
  await appended;
  await merged?.append(log, visits);
};

/**
 * Fills an empty installation that nobody uses with a backup that was checked: the log through its
 * port, then ledger and projections as folds of it. Until all is there the database is marked, and
 * no service starts on it.
 */
export const restoreInto = async (
  { pool, log, logger }: { readonly pool: Pool; readonly log: EventLog; readonly logger: Logger },
  backup: BackupFile,
  options: RestoreProgress,
): Promise<void> => {
  const { progress, signal } = options;
  const tell = (phase: RestorePhase) => (done: number, total: number) => {
    progress?.(phase, done, total);
  };
  await markUnfinished(pool);
  await fillLog({ pool, log }, backup, options);
  await rebuildLedger({ pool, log, progress: tell('ledger'), signal });
  await catchUpProjections({ pool, log, logger, progress: tell('projections'), signal });
  await markFinished(pool);
};
