import { catchUpProjections } from '../../../projectors/main.js';
import { readKnownEvent, UnknownEventType } from '../../../schemas/events/codec.js';
import { ledgerSource } from '../../../schemas/events/envelope.js';
import { topicNames, type TopicName } from '../../../schemas/events/topics.js';
import { rebuildLedger } from '../../ledger/rebuild/rebuild.js';
import { markFinished, markUnfinished } from '../../migrations/migrate.js';
import type { EventLog, RestoredRecord } from '../../event-log/port.js';
import type { Logger } from '../../platform/logging.js';
import type { Pool } from '../../platform/postgres/pool.js';
import { BadBackup, type BackupBatch, type BackupFile } from './format.js';

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

/** Appends the records. Partitions are chosen by key, and their number never changes, so each keeps its order. */
const fillLog = async (
  log: EventLog,
  backup: BackupFile,
  options: RestoreProgress,
): Promise<void> => {
  let appended = Promise.resolve();
  await readAll(backup, 'log', options, async ({ topic, records }) => {
    if (!isKnownTopic(topic)) throw new Error(`checkBackup() has accepted the topic ${topic}`);
    const next = records.map(({ key, value }): RestoredRecord => {
      const event = readKnownEvent(value);
      const ledgerSequence = event?.source === ledgerSource ? event.sequence : null;
      return { key, value, ledgerSequence };
    });
    // In sequence, so that the records of a key keep their order.
    await appended;
    appended = log.append(topic, next);
    // The failure is thrown by the next `await appended`.
    appended.catch(() => undefined);
  });
  await appended;
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
  await fillLog(log, backup, options);
  await rebuildLedger({ pool, log, progress: report('ledger'), signal });
  await catchUpProjections({ pool, log, logger, progress: report('projections'), signal });
  await markFinished(pool);
};
