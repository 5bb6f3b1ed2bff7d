import { catchUpProjections } from '../../../projectors/main.js';
import type { EventNamed, LinklogEvent } from '../../../schemas/events/catalogue.js';
import { readEvent, UnknownEventType, UnreadableEvent } from '../../../schemas/events/codec.js';
import { ledgerSource } from '../../../schemas/events/envelope.js';
import { topicNames, topics, type TopicName } from '../../../schemas/events/topics.js';
import { rebuildLedger } from '../../ledger/rebuild/rebuild.js';
import { markFinished, markUnfinished } from '../../migrations/migrate.js';
import type { EventLog, RestoredRecord } from '../../platform/event-log/port.js';
import type { Logger } from '../../platform/logging.js';
import type { Pool } from '../../platform/postgres/pool.js';
import type { BackupBatch } from './format.js';
import { mergesPartitions, mergeVisits, type SpooledVisit } from './merged-partitions.js';
import { BadBackup, type BackupFile } from './read.js';

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
  event?.type === 'linklog.LinkVisited.v1' && event.source !== ledgerSource;

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
