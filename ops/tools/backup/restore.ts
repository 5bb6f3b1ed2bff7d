import { catchUpProjections } from '../../../projectors/main.js';
import { isVisit, type EventNamed, type LinklogEvent } from '../../../schemas/events/catalogue.js';
import { readKnownEvent, UnknownEventType } from '../../../schemas/events/codec.js';
import { ledgerSource } from '../../../schemas/events/envelope.js';
import { topicNames, topics, type TopicName } from '../../../schemas/events/topics.js';
import { rebuildLedger } from '../../ledger/rebuild/rebuild.js';
import { markFinished, markUnfinished } from '../../migrations/migrate.js';
import type { EventLog, RestoredRecord } from '../../event-log/port.js';
import type { Logger } from '../../platform/logging.js';
import { transaction, type Pool } from '../../platform/postgres/pool.js';
import { BadBackup, type BackupBatch, type BackupFile, type BackupHead } from './format.js';

export type RestorePhase = 'check' | 'log' | 'ledger' | 'projections';

interface RestoreProgress {
  readonly progress?: (phase: RestorePhase, done: number, total: number) => void;
  readonly signal?: AbortSignal | undefined;
}

const isKnownTopic = (topic: string): topic is TopicName =>
  (topicNames as readonly string[]).includes(topic);

const readAll = async (
  backup: BackupFile,
  phase: RestorePhase,
  { progress, signal }: RestoreProgress,
  onBatch: (batch: BackupBatch) => Promise<void>,
): Promise<void> => {
  let done = 0;
  progress?.(phase, done, backup.total);
  await backup.read(async (batch) => {
    await onBatch(batch);
    done += batch.records.length;
    progress?.(phase, done, backup.total);
  }, signal);
};

/** Checks that a backup is complete and that this version knows all of its topics and events. @throws BadBackup */
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
        readKnownEvent(value);
      } catch (error) {
        throw error instanceof UnknownEventType ? later(`events of type ${error.type}`) : error;
      }
    }
    return Promise.resolve();
  });
};

const isSpooled = (event: LinklogEvent | null): event is EventNamed<'LinkVisited'> =>
  event !== null && isVisit(event) && event.source !== ledgerSource;

interface SpooledVisit {
  readonly event: EventNamed<'LinkVisited'>;
  readonly value: string;
}

const mergesPartitions = async (
  log: EventLog,
  { topics }: BackupHead,
  topic: TopicName,
): Promise<boolean> => {
  const backedUp = topics.find((known) => known.topic === topic)?.partitions.length ?? 1;
  return (await log.ranges(topic)).length % backedUp !== 0;
};

const table = 'public.unfinished_restore_visits';
const pageSize = 1_000;

/**
 * Sorts visits in PostgreSQL if partitions are merged. The visits of a spool must ascend by sequence in each partition,
 * because readers drop others as repeats. In the order of the backup, they would not ascend.
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
    /** Appends all visits: those of a spool by sequence, otherwise by time. */
    append: (log: EventLog, topic: TopicName): Promise<void> =>
      transaction(pool, async (tx) => {
        // The sort and the appends may take longer than these timeouts.
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

/** Appends the records through the port, because the log may have other partitions than the backup. */
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
    if (!isKnownTopic(topic)) throw new Error(`checkBackup() has accepted the topic ${topic}`);
    const spooled: SpooledVisit[] = [];
    const next: RestoredRecord[] = [];
    for (const { key, value } of records) {
      const event = readKnownEvent(value);
      if (merged && isSpooled(event)) spooled.push({ event, value });
      else {
        const ledgerSequence = event?.source === ledgerSource ? event.sequence : null;
        next.push({ key, value, ledgerSequence });
      }
    }
    // In sequence, so that the records of a key keep their order.
    await appended;
    await merged?.add(spooled);
    appended = log.append(topic, next);
    // The failure is thrown by the next `await appended`.
    appended.catch(() => undefined);
  });
  await appended;
  await merged?.append(log, visits);
};

/**
 * Restores a checked backup into an empty installation that is not in use: the log, then ledger and projections as folds
 * of it. Until it is complete, the database is marked, and no service starts on it.
 */
export const restoreInto = async (
  { pool, log, logger }: { readonly pool: Pool; readonly log: EventLog; readonly logger: Logger },
  backup: BackupFile,
  options: RestoreProgress,
): Promise<void> => {
  const { progress, signal } = options;
  const report = (phase: RestorePhase) => (done: number, total: number) => {
    progress?.(phase, done, total);
  };
  await markUnfinished(pool);
  await fillLog({ pool, log }, backup, options);
  await rebuildLedger({ pool, log, progress: report('ledger'), signal });
  await catchUpProjections({ pool, log, logger, progress: report('projections'), signal });
  await markFinished(pool);
};
