/** The events of the live view. */
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { linkOfSubject } from '../../schemas/link-subject.js';
import { formatEventType, formatValue } from './format.js';
import type { AddressedLink } from './link-address.js';
import { texts } from './texts.js';

const text = texts.live;

/** The part of an event of the feed that the live view shows. */
export interface LiveEvent {
  readonly id: string;
  /** Such as `linklog.LinkVisited.v4`. */
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const maxShown = 10;

/** The newest events of those that are shown and those received. An event may be received more than once. */
export const newestOf = (
  shown: readonly LiveEvent[],
  received: readonly LiveEvent[],
): readonly LiveEvent[] =>
  [...new Map([...received.toReversed(), ...shown].map((event) => [event.id, event])).values()]
    .toSorted((a, b) => Date.parse(b.time) - Date.parse(a.time))
    .slice(0, maxShown);

type Visit = EventNamed<'LinkVisited'>['data'];

/** What is known of a visit, such as `Germany, Chrome, Desktop, from news.example, QR code`. */
const describeVisit = ({ bot, referrer, target, ...visit }: Partial<Visit>): string => {
  const named = (dimension: string, value: string | null | undefined): string =>
    value == null ? '' : formatValue(dimension, value);
  return [
    bot === true ? text.bot : '',
    named('countries', visit.country),
    named('browsers', visit.browser),
    named('devices', visit.device),
    referrer == null ? '' : text.from(referrer),
    named('triggers', visit.trigger),
    target == null ? '' : text.rule(target),
  ]
    .filter((part) => part !== '')
    .join(', ');
};

export const isVisit = ({ type }: LiveEvent): boolean => type.startsWith('linklog.LinkVisited.');

export const linkOf = ({ subject }: LiveEvent): AddressedLink => {
  const { domain, code } = linkOfSubject(subject);
  return { shortCode: code, domain };
};

/** An event in words: the values of a visit, or the name of another event. */
export const describeEvent = (event: LiveEvent): string =>
  isVisit(event) ? describeVisit(event.data) || text.visit : formatEventType(event.type);

/** The longest pause between two connections (ms). */
const maxPauseMs = 60_000;

/**
 * The pause before the next connection (ms).
 *
 * @param failures connections since the last message
 * @param retryMs the shortest pause
 */
export const pauseAfter = (failures: number, retryMs: number): number =>
  Math.min(Math.max(maxPauseMs, retryMs), retryMs * 2 ** failures);
