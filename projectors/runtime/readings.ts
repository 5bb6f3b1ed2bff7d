import type { LogRecord } from '../../ops/platform/event-log/port.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { readEvent, topicOf, UnreadableEvent } from '../../schemas/events/codec.js';
import type { TopicName } from '../../schemas/events/topics.js';

/** A record as a reader has it: with its event, or with the reason why it has none. */
export type Reading = ReadableRecord | UnreadableRecord;

export interface ReadableRecord {
  readonly record: LogRecord;
  readonly subject: string;
  readonly event: LinklogEvent;
}

export interface UnreadableRecord {
  readonly record: LogRecord;
  /** Its key, as far as PostgreSQL can hold it. */
  readonly subject: string;
  readonly error: UnreadableEvent;
}

/** Characters of a subject or a source at most: both stand in indexes, whose entries are bounded. */
const longestName = 512;

/** Whether PostgreSQL can hold a name in an index and give it back as it was. */
const isStorable = (name: string): boolean =>
  name.length <= longestName && !name.includes('\0') && name.isWellFormed();

/** PostgreSQL's text cannot hold NUL, and a record of a foreign writer may hold anything. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

const storableName = (name: string): string =>
  isStorable(name) ? name : storable(name.slice(0, longestName));

const misplaced = (topic: TopicName, key: string, event: LinklogEvent): string | null => {
  if (topicOf(event) !== topic) return `${event.type} does not belong in ${topic}`;
  if (event.subject !== key) return 'its subject is not its key, so its order is lost';
  if (!isStorable(event.subject)) return 'its subject is too long or not plain text';
  if (!isStorable(event.source)) return 'its source is too long or not plain text';
  return null;
};

/** Reads a record as an event in its current version; older ones are upcast on the way. */
export const readRecord = (topic: TopicName, record: LogRecord): Reading => {
  const unreadable = (error: UnreadableEvent): UnreadableRecord => ({
    record,
    subject: storableName(record.key),
    error,
  });
  try {
    const event = readEvent(record.value);
    const reason = misplaced(topic, record.key, event);
    if (reason !== null) return unreadable(new UnreadableEvent(reason));
    return { record, subject: event.subject, event };
  } catch (error) {
    if (error instanceof UnreadableEvent) return unreadable(error);
    throw error;
  }
};
