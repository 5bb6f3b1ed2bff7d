import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { UnreadableEvent } from '../../schemas/events/codec.js';
import type { TopicName } from '../../schemas/events/topics.js';
import type { LogRecord } from '../event-log/port.js';
import { readRecentEvent } from '../event-log/recent-events.js';

/** Returns the event of a record; `null` for an unreadable record, which projections report. */
export const readableEvent = (topic: TopicName, { value }: LogRecord): LinklogEvent | null => {
  try {
    return readRecentEvent(topic, value);
  } catch (error) {
    if (error instanceof UnreadableEvent) return null;
    throw error;
  }
};

export const readableEvents = (topic: TopicName, records: readonly LogRecord[]): LinklogEvent[] =>
  records.flatMap((record) => readableEvent(topic, record) ?? []);
