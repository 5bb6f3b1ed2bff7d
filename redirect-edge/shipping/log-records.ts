import { newEvent, writeEvent } from '../../schemas/events/codec.js';
import { spoolSource } from '../../schemas/events/envelope.js';
import type { NewRecord } from '../../ops/platform/event-log/port.js';
import { isPlainVisit, readRecord, recordsIn, type NewVisit } from '../spool/record.js';
import type { Shipped } from '../spool/shipper.js';
import { PlainEvents } from './plain-events.js';

/** The LinkVisited event of a visit as it will stand in the log. Its id is its sequence, unique in its source. */
const eventOf = (visit: NewVisit, source: string, sequence: number): string => {
  const { code: subject, account, at, requestId: correlationId, facts } = visit;
  const id = String(sequence);
  const metadata = { id, source, sequence, subject, time: new Date(at), account, correlationId };
  return writeEvent(newEvent('LinkVisited', { click: null, ...facts }, metadata));
};

/**
 * The log's records of a chunk of a spool's file, `max` at most, and what of the chunk they are.
 *
 * @throws UnknownRecordFormat
 */
export const logRecordsIn = (
  chunk: Buffer,
  spoolId: string,
  max: number,
): { readonly records: readonly NewRecord[]; readonly shipped: Shipped } => {
  const source = spoolSource(spoolId);
  const plainEvents = new PlainEvents(chunk, source);
  const made: (
    NewRecord | { readonly key: string; readonly start: number; readonly end: number }
  )[] = [];
  let bytes = 0;
  let through = 0;
  for (const place of recordsIn(chunk)) {
    const { sequence } = place;
    if (isPlainVisit(chunk, place)) {
      const start = plainEvents.length;
      const key = plainEvents.add(place);
      made.push({ key, start, end: plainEvents.length });
    } else {
      const record = readRecord(chunk, place);
      if (record.type === 'event') made.push(record);
      else made.push({ key: record.visit.code, value: eventOf(record.visit, source, sequence) });
    }
    bytes = place.end;
    through = sequence;
    if (made.length === max || plainEvents.isFull) break;
  }
  const text = plainEvents.text();
  // Slices of one text: they share its bytes.
  const records = made.map((one) =>
    'value' in one ? one : { key: one.key, value: text.slice(one.start, one.end) },
  );
  return { records, shipped: { records: records.length, bytes, through } };
};
