import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { readEvent, UnreadableEvent } from '../../schemas/events/codec.js';
import type { LogRecord } from '../event-log/port.js';

/** Returns the event of a record; `null` for an unreadable record, which projections report. */
export const readableEvent = ({ value }: LogRecord): LinklogEvent | null => {
  try {
    return readEvent(value);
  } catch (error) {
    if (error instanceof UnreadableEvent) return null;
    throw error;
  }
};

export const readableEvents = (records: readonly LogRecord[]): LinklogEvent[] =>
  records.flatMap((record) => readableEvent(record) ?? []);
