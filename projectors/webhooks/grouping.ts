import type { FeedEvent } from '../../ops/feed/filter.js';
import { isVisitsIndex } from '../../ops/feed/filter.js';
import { newId } from '../../ops/platform/new-id.js';
import type { Envelope } from '../../schemas/events/envelope.js';
import { recordTimeOf } from '../../schemas/events/time.js';

/** Bounds a delivery. The bytes leave room for the separators of a batch of 256 KiB. */
export const deliveryLimits = { events: 100, bytes: 256 * 1_024 - 128 };

/** The number of waiting events up to which each one is a delivery of its own. */
const maxSingle = 10;

export interface NewDelivery {
  /** UUIDv7: the `webhook-id`. */
  readonly id: string;
  /** Names of event types. */
  readonly types: readonly string[];
  readonly count: number;
  /** A CloudEvent, or an array of them. */
  readonly body: string;
}

export const hasVisits = (events: readonly FeedEvent[]): boolean =>
  events.some(({ index }) => isVisitsIndex(index));

/** The record time of the first event (ms); `null` without events. */
export const timeOfFirst = ([first]: readonly FeedEvent[]): number | null =>
  first ? recordTimeOf(JSON.parse(first.json) as Pick<Envelope, 'source' | 'time'>) : null;

/** `LinkCreated` for `linklog.LinkCreated.v4`. */
const nameOf = ({ type }: FeedEvent): string => type.split('.')[1] ?? type;

const deliveryOf = (id: string, events: readonly FeedEvent[], body: string): NewDelivery => ({
  id,
  types: [...new Set(events.map(nameOf))],
  count: events.length,
  body,
});

/** The deliveries of events within `deliveryLimits`, in order. Visits are always sent as a batch. */
export const groupEvents = (events: readonly FeedEvent[]): readonly NewDelivery[] => {
  if (events.length > maxSingle || hasVisits(events)) {
    return [deliveryOf(newId(), events, `[${events.map(({ json }) => json).join()}]`)];
  }
  // Lists are in the order of the IDs, and those of one millisecond are random.
  const ids = events.map(() => newId()).sort();
  return events.map((event, index) => deliveryOf(ids[index] ?? newId(), [event], event.json));
};
