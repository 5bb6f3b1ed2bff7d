import type { LinklogEvent } from '../events/catalogue.js';
import { ownActors } from '../decision.js';
import { isPersonId } from '../roles.js';
import { keyIdPattern } from '../http/keys.js';
import { ledgerSource, writeSequence } from '../events/envelope.js';
import { topics } from '../events/topics.js';
import { publicDataOf } from '../events/redact.js';

/** The number of the partition of accounts in the history; those of links follow the log. */
export const accountsPartition = topics.links.partitions;
/** The number of the partition of the platform in the history. */
export const platformPartition = accountsPartition + 1;

/**
 * A row of `projection_history.events`: the attributes of an event of links, accounts or the platform that cannot be
 * derived. Written by the projector, read by the API.
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
  readonly traceparent: string | null;
  readonly client: string | null;
  /** JSON without secret fields. */
  readonly data: string;
}

export interface PositionedHistoryRow extends HistoryRow {
  /** That of links, `accountsPartition` or `platformPartition`. */
  readonly partition: number;
  readonly record_offset: number;
}

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
  traceparent: event.traceparent ?? null,
  client: event.client ?? null,
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
    ...(row.traceparent !== null && { traceparent: row.traceparent }),
    ...(row.client !== null && { client: row.client }),
  });
  return `${attributes.slice(0, -1)},"data":${row.data}}`;
};

/** Actors that owners may see: keys, people and the actors of Linklog. */
const isNamed = (actor: string): boolean =>
  keyIdPattern.test(actor) || isPersonId(actor) || Object.values<string>(ownActors).includes(actor);

const withoutReason = (data: string): string => {
  // Avoids parsing: few events have a reason.
  if (!data.includes('"reason"')) return data;
  const entries = Object.entries(JSON.parse(data) as object);
  return JSON.stringify(Object.fromEntries(entries.filter(([name]) => name !== 'reason')));
};

/** The row as the owner of the account sees it: without the names, requests and reasons of operators. */
export const ownerRowOf = (row: HistoryRow): HistoryRow =>
  isNamed(row.actor ?? '')
    ? row
    : {
        ...{ ...row, actor: 'operator', correlationid: null, traceparent: null },
        data: withoutReason(row.data),
      };
