import type { LogRecord } from '../../ops/event-log/port.js';
import { readRecentEvent } from '../../ops/event-log/recent-events.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { topicOf, UnknownEventType, UnreadableEvent } from '../../schemas/events/codec.js';
import { ledgerSource } from '../../schemas/events/envelope.js';
import { topics, type TopicName } from '../../schemas/events/topics.js';

/** A record of the log with its event, or with the reason why it is unreadable. */
export type IncomingRecord = ReadableRecord | BrokenRecord;

export interface ReadableRecord {
  readonly record: LogRecord;
  readonly subject: string;
  readonly event: LinklogEvent;
}

interface BrokenRecord {
  readonly record: LogRecord;
  /** The record's key, shortened and without characters that PostgreSQL cannot store. */
  readonly subject: string;
  readonly error: UnreadableEvent;
}

/** The unit is characters. Index entries of PostgreSQL are bounded. */
const maxNameLength = 512;

/** Whether PostgreSQL can store a name unchanged and index it. */
const isStorable = (name: string): boolean =>
  name.length <= maxNameLength && !name.includes('\0') && name.isWellFormed();

/** Replaces characters that PostgreSQL cannot store, which a record of another writer may contain. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

const misplaced = (topic: TopicName, key: string, event: LinklogEvent): string | null => {
  if (topicOf(event) !== topic) return `${event.type} does not belong in ${topic}`;
  if (topic !== topics.visits.name && event.source !== ledgerSource) {
    return 'its source is not the ledger, so its sequence is of another order';
  }
  if (event.subject !== key) return 'its subject is not its key, so its order is lost';
  if (!isStorable(event.subject)) return 'its subject is too long or not plain text';
  if (!isStorable(event.source)) return 'its source is too long or not plain text';
  if (!isStorable(event.account ?? '')) return 'its account is too long or not plain text';
  return null;
};

/** Reads a record; older versions of events are upcast. */
export const readRecord = (topic: TopicName, record: LogRecord): IncomingRecord => {
  try {
    const event = readRecentEvent(topic, record.value);
    const reason = misplaced(topic, record.key, event);
    if (reason !== null) throw new UnreadableEvent(reason);
    return { record, subject: event.subject, event };
  } catch (error) {
    if (!(error instanceof UnreadableEvent)) throw error;
    const { key } = record;
    return {
      record,
      subject: isStorable(key) ? key : storable(key.slice(0, maxNameLength)),
      error,
    };
  }
};

/** Whether a later version of Linklog wrote the record's event. */
export const isUnknown = (
  incoming: IncomingRecord,
): incoming is BrokenRecord & { readonly error: UnknownEventType } =>
  'error' in incoming && incoming.error instanceof UnknownEventType;

/**
 * Reads records for a projection.
 *
 * @throws UnknownEventType for an event of a later version, which is not a dead letter: the partition waits for that
 *   version
 */
export const readRecords = (
  topic: TopicName,
  records: readonly LogRecord[],
): readonly IncomingRecord[] =>
  records.map((record) => {
    const incoming = readRecord(topic, record);
    if (isUnknown(incoming)) throw incoming.error;
    return incoming;
  });
