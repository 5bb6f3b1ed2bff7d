import { newEvent, writeEvent } from '../../schemas/events/codec.js';
import { spoolSource } from '../../schemas/events/envelope.js';
import type { NewLines, NewRecord } from '../../ops/event-log/port.js';
import { isPlainVisit, readRecord, recordsIn, type NewVisit } from '../spool/record.js';
import type { Shipped } from '../spool/shipper.js';
import type { LineWriter } from './line-writer.js';
import { PlainEvents } from './plain-events.js';

/** The LinkVisited event of a visit as it will stand in the log. Its id is its sequence, unique in its source. */
const eventOf = (visit: NewVisit, source: string, sequence: number): string => {
  const { code: subject, account, at, requestId: correlationId, facts } = visit;
  const id = String(sequence);
  const metadata = { id, source, sequence, subject, time: new Date(at), account, correlationId };
  return writeEvent(newEvent('LinkVisited', { click: null, ...facts }, metadata));
};

/**
 * The log's records of a chunk of a spool's file, `max` at most, and what of the chunk they are. Their bytes are the
 * writer's.
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
  for (const place of recordsIn(chunk)) {
    if (records === max) break;
    if (isPlainVisit(chunk, place)) plainEvents.add(place);
    else {
      const record = readRecord(chunk, place);
      if (record.type === 'event') writer.add(record);
      else {
        const { visit } = record;
        writer.add({ key: visit.code, value: eventOf(visit, source, place.sequence) });
      }
    }
    records += 1;
    bytes = place.end;
    through = place.sequence;
  }
  return { records: writer.take(), shipped: { records, bytes, through } };
};
