import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { readEvent, UnreadableEvent } from '../../schemas/events/codec.js';
import type { LogRecord } from '../event-log/port.js';

/** Reads the events of records, without unreadable records, which projections report. */
export const readableEvents = (records: readonly LogRecord[]): LinklogEvent[] =>
  records.flatMap(({ value }) => {
    try {
      return [readEvent(value)];
    } catch (error) {
      if (error instanceof UnreadableEvent) return [];
      throw error;
    }
  });
