import { newEvent, writeEvent } from '../../schemas/events/codec.js';
import { spoolSource } from '../../schemas/events/envelope.js';
import type { NewLines, NewRecord } from '../../ops/event-log/port.js';
import { isPlainVisit, readRecord, recordsIn, type NewVisit } from '../spool/record.js';
import type { Shipped } from '../spool/shipper.js';
import type { LineWriter } from './line-writer.js';
import { PlainEvents } from './plain-events.js';

/** The LinkVisited event of a visit, as JSON. Its id is its sequence, which is unique in its source. */
const eventOf = (visit: NewVisit, source: string, sequence: number): string => {
  const { subject, account, at, requestId: correlationId, data } = visit;
  const id = String(sequence);
  const metadata = { id, source, sequence, subject, time: new Date(at), account, correlationId };
  return writeEvent(newEvent('LinkVisited', { click: null, ...data }, metadata));
};

/**
 * Converts at most `max` records of a chunk of a spool's file to records of the log. Their bytes belong to the writer.
 * `shipped` is the part of the chunk that was converted.
 *
 * @throws UnknownRecordFormat
 */
export const logRecordsIn = (
  chunk: Buffer,
  spoolId: string,
  max: number,
  writer: LineWriter,
): { readonly records: readonly (NewRecord | NewLines)[]; readonly shipped: Shipped } => {
  const source = spoolSource(spoolId);
  const plainEvents = new PlainEvents(chunk, source, writer);
  let records = 0;
  let bytes = 0;
  let through = 0;
  for (const range of recordsIn(chunk)) {
    if (records === max) break;
    if (isPlainVisit(chunk, range)) plainEvents.add(range);
    else {
      const record = readRecord(chunk, range);
      if (record.type === 'event') writer.add(record);
      else {
        const { visit } = record;
        writer.add({ key: visit.subject, value: eventOf(visit, source, range.sequence) });
      }
    }
    records += 1;
    bytes = range.end;
    through = range.sequence;
  }
  return { records: writer.take(), shipped: { records, bytes, through } };
};
