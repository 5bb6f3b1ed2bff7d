import { notBefore } from '../decision.js';
import type { EventNamed, LinkEvent } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';
import { liftsExpiry, securedBy, type SecuredFields } from './link.js';
import { unrestrained, type Restraints } from './link-status.js';

/** What the ledger must know of a code to decide about it exactly. */
export type LedgerLinkState = { readonly status: 'free' } | LedgerLink;

export interface LedgerLink extends Restraints {
  readonly status: 'taken';
  readonly code: string;
  readonly keyId: string;
  readonly account: string;
  /** An operator has lifted a block: what the web-safety check finds later of this destination is his to judge. */
  readonly cleared: boolean;
  readonly expiresAt: Date | null;
  readonly maxClicks: number | null;
  /** How many of `maxClicks` are taken. */
  readonly clicks: number;
  /** Destination and password where they were edited; what is absent is as the link was made. */
  readonly edited: SecuredFields | null;
  /** Of the link's last event in the topic of links. */
  readonly sequence: number;
  /** No later event of the link may have an earlier time. */
  readonly lastEventAt: Date;
}

export type LedgerLinkEvent = LinkEvent | EventNamed<'LinkVisited'>;

export const freeCode: LedgerLinkState = { status: 'free' };

/** What every link begins with. */
export const untouched = {
  status: 'taken',
  ...unrestrained,
  cleared: false,
  clicks: 0,
  edited: null,
} as const;

/**
 * What an event makes of a link. The ledger's rows are changed in no other way.
 *
 * This fold and `evolveLink` agree on histories that no decider makes, which a log with other writers may have.
 * They never rewrite history: a second LinkCreated changes nothing, and the first reason of an expiry stays. An
 * event before LinkCreated changes nothing either: an error would set aside the later events of the link.
 */
export const evolveLedgerLink = (
  link: LedgerLinkState,
  event: LedgerLinkEvent,
): LedgerLinkState => {
  const time = new Date(event.time);
  if (event.type === 'linklog.LinkCreated.v2') {
    if (link.status !== 'free') return link;
    const { keyId, expiresAt, maxClicks } = event.data;
    return {
      code: event.subject,
      keyId,
      account: event.account ?? 'default',
      expiresAt: expiresAt === null ? null : new Date(expiresAt),
      maxClicks,
      sequence: event.sequence,
      lastEventAt: time,
      // Last: in Node 20 each property after a spread costs a microsecond.
      ...untouched,
    };
  }
  if (link.status === 'free') return link;
  const { sequence } = event;
  // A log has no order between its topics: a rebuild folds all visits after the last link event.
  const lastEventAt = notBefore(time, link.lastEventAt);
  switch (event.type) {
    case 'linklog.LinkVisited.v2':
      return { ...link, clicks: event.data.click ?? link.clicks, lastEventAt };
    case 'linklog.LinkEdited.v1': {
      const { data } = event;
      const { maxClicks = link.maxClicks } = data;
      const expiresAt = data.expiresAt == null ? null : new Date(data.expiresAt);
      const secured = securedBy(data);
      return {
        ...link,
        expiresAt: data.expiresAt === undefined ? link.expiresAt : expiresAt,
        maxClicks,
        expired: liftsExpiry(data) ? null : link.expired,
        cleared: link.cleared && data.url === undefined,
        edited: secured ? { ...link.edited, ...secured } : link.edited,
        sequence,
        lastEventAt,
      };
    }
    case 'linklog.LinkDescribed.v1':
      return { ...link, sequence, lastEventAt };
    case 'linklog.LinkDisabled.v1':
      return { ...link, disabled: true, sequence, lastEventAt };
    case 'linklog.LinkEnabled.v1':
      return { ...link, disabled: false, sequence, lastEventAt };
    case 'linklog.LinkDeleted.v1':
      return { ...link, deleted: true, sequence, lastEventAt };
    case 'linklog.LinkExpired.v1':
      return { ...link, expired: link.expired ?? event.data.reason, sequence, lastEventAt };
    case 'linklog.LinkBlocked.v1':
      return { ...link, blocked: true, sequence, lastEventAt };
    case 'linklog.LinkUnblocked.v1':
      return { ...link, blocked: false, cleared: true, sequence, lastEventAt };
    default:
      return unknownEvent(event, 'ledger-link');
  }
};
