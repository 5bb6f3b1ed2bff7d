import type { LinklogEvent } from '../events/catalogue.js';
import { ledgerSource, writeSequence } from '../events/envelope.js';
import { publicDataOf } from '../events/redact.js';

/**
 * A row of `projection_history.events`: the attributes of a link's event that cannot be derived. Written by the
 * projector, read by the API.
 */
export interface HistoryRow {
  readonly subject: string;
  readonly sequence: number;
  readonly time: Date;
  readonly id: string;
  readonly type: string;
  readonly account: string | null;
  readonly actor: string | null;
  readonly correlationid: string | null;
  readonly causationid: string | null;
  /** JSON without secret fields. */
  readonly data: string;
}

/** The row of an event of the ledger. */
export const rowOfEvent = (event: LinklogEvent): HistoryRow => ({
  subject: event.subject,
  sequence: event.sequence,
  time: new Date(event.time),
  id: event.id,
  type: event.type,
  account: event.account ?? null,
  actor: event.actor ?? null,
  correlationid: event.correlationid ?? null,
  causationid: event.causationid ?? null,
  data: JSON.stringify(publicDataOf(event)),
});

/**
 * The CloudEvent of the log without secret fields, as JSON: the result of `withoutSecrets` for the row's event. The
 * data, which may have 8 KB, is not parsed.
 */
export const eventOfRow = (row: HistoryRow): string => {
  const attributes = JSON.stringify({
    specversion: '1.0',
    id: row.id,
    type: row.type,
    source: ledgerSource,
    subject: row.subject,
    time: row.time.toISOString(),
    datacontenttype: 'application/json',
    sequence: writeSequence(row.sequence),
    ...(row.account !== null && { account: row.account }),
    ...(row.actor !== null && { actor: row.actor }),
    ...(row.correlationid !== null && { correlationid: row.correlationid }),
    ...(row.causationid !== null && { causationid: row.causationid }),
  });
  return `${attributes.slice(0, -1)},"data":${row.data}}`;
};
