import { catalogue, type LinklogEvent } from '../../schemas/events/catalogue.js';
import { writeEvent } from '../../schemas/events/codec.js';
import { topics } from '../../schemas/events/topics.js';
import { linkOfSubject } from '../../schemas/link-subject.js';
import {
  accountsPartition,
  eventOfRow,
  ownerRowOf,
  rowOfEvent,
  type HistoryRow,
} from '../../schemas/read-models/history.js';
import { partitionOf } from '../event-log/partition.js';
import { feedPartitions } from './cursor.js';

/** Selects events of an account. */
export interface FeedFilter {
  readonly account: string;
  /** Event types with versions. */
  readonly types: ReadonlySet<string>;
  /** Only events of this link; `null`: all. */
  readonly subject: string | null;
  /** Only events of links on this domain, `''` for the default domain; `null`: all. */
  readonly domain: string | null;
}

/** An event as clients see it. */
export interface FeedEvent {
  /** The index of its partition in `feedPartitions`. */
  readonly index: number;
  readonly offset: number;
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  /** The CloudEvent, without secrets and without the names of operators. */
  readonly json: string;
}

/** The index of the first partition of visits. */
export const visitsIndex = feedPartitions.findIndex(({ topic }) => topic === topics.visits.name);

export const isVisitsIndex = (index: number): boolean => index >= visitsIndex;

const visitType = catalogue.LinkVisited.type;

/** The partitions that have events of a filter. */
export const indexesOf = ({ types, subject, domain }: FeedFilter): readonly number[] =>
  feedPartitions.flatMap(({ topic, partition }, index) => {
    const hasTypes = isVisitsIndex(index)
      ? types.has(visitType)
      : types.size > (types.has(visitType) ? 1 : 0);
    if (!hasTypes) return [];
    if (index === accountsPartition) return subject === null && domain === null ? [index] : [];
    const count = topics[topic === topics.links.name ? 'links' : 'visits'].partitions;
    return subject === null || partitionOf(subject, count) === partition ? [index] : [];
  });

/** Whether a filter selects an event of its account, in a partition of `indexesOf`. */
export const selects = (
  { types, subject, domain }: FeedFilter,
  event: Pick<FeedEvent, 'type' | 'subject'>,
): boolean => {
  if (!types.has(event.type)) return false;
  if (subject !== null && event.subject !== subject) return false;
  return domain === null || (linkOfSubject(event.subject).domain ?? '') === domain;
};

/** The event of a row of the history. Without a spread of an object, which would take half of the time. */
export const feedEventOfRow = (row: HistoryRow, index: number, offset: number): FeedEvent => ({
  index,
  offset,
  type: row.type,
  subject: row.subject,
  time: row.time.toISOString(),
  json: eventOfRow(ownerRowOf(row)),
});

/** V8 represents a substring as a reference to the whole text, such as a row of a thousand records. */
const copyOf = (text: string): string => Buffer.from(text).toString();

/** The event of a record of the log. */
export const feedEventOf = (event: LinklogEvent, index: number, offset: number): FeedEvent => {
  if (event.type !== visitType) return feedEventOfRow(rowOfEvent(event), index, offset);
  const [subject, time] = [copyOf(event.subject), copyOf(event.time)];
  // Without a spread, which would allocate a hidden class for each event.
  return { index, offset, type: visitType, subject, time, json: writeEvent(event) };
};
