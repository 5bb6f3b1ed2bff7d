import { createHash } from 'node:crypto';
import { notBefore } from '../decision.js';
import { isCreation, isVisit, type EventNamed, type LinkEvent } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';
import { liftsExpiry, movesLink, securedBy, type SecuredFields } from './link.js';
import { noRestraints, type Restraints } from './link-status.js';

/**
 * The state of a link in the ledger: exactly the columns of its row, because decisions fold events onto the locked row.
 * The row has no destination, rules, password hash or texts, and the row of the projection (`link.ts`) has no key and no
 * clicks, so neither state can be made from the other.
 */
export type LedgerLinkState = { readonly status: 'none' } | LedgerLink;

export interface LedgerLink extends Restraints {
  readonly status: 'taken';
  readonly subject: string;
  readonly keyId: string;
  readonly account: string;
  readonly createdAt: Date;
  /** `reuseKeyOf` of the account and the destination; `null` for an alias. */
  readonly reuseKey: number | null;
  /** An operator has unblocked this destination, so the web-safety check no longer blocks it. */
  readonly cleared: boolean;
  readonly startsAt: Date | null;
  readonly expiresAt: Date | null;
  readonly maxClicks: number | null;
  /** Clicks counted against the limit, including those from before the limit was set or before an import. */
  readonly clicks: number;
  /** The sequence of the last visit that the ledger recorded. Opening balances of clicks do not change it. */
  readonly visitSequence: number;
  /** Edited secured fields; an absent field still has the value of the link's creation. */
  readonly edited: SecuredFields | null;
  /** The sequence of the link's last event in the topic of links. */
  readonly sequence: number;
  /** The time of the link's last event. Later events never have an earlier time. */
  readonly lastEventAt: Date;
}

export type LedgerLinkEvent = LinkEvent | EventNamed<'LinkVisited'>;

/** The number that indexes links by account and destination, for `reuse`: 48 bits of a SHA-256. */
export const reuseKeyOf = (account: string, url: string): number =>
  createHash('sha256').update(`${account}\n${url}`).digest().readUIntBE(0, 6);

const dateOf = (time: string | null): Date | null => (time === null ? null : new Date(time));

export const initialState: LedgerLinkState = { status: 'none' };

/** The fields that are equal in all new links; also the defaults of their columns. */
export const initialFields = {
  status: 'taken',
  ...noRestraints,
  cleared: false,
  clicks: 0,
  visitSequence: 0,
  edited: null,
} as const;

/**
 * Applies an event to a link. The ledger's rows are changed in no other way.
 *
 * A log with other writers may have histories that no decider makes. For these, too, this fold and `evolveLink` agree:
 * a second creation and all events before the first one change nothing, and the first reason of an expiry stays. An
 * error would set aside the later events of the link.
 */
export const evolveLedgerLink = (
  link: LedgerLinkState,
  event: LedgerLinkEvent,
): LedgerLinkState => {
  const time = new Date(event.time);
  if (isCreation(event)) {
    if (link.status !== 'none') return link;
    const { keyId, url, custom, startsAt, expiresAt, maxClicks } = event.data;
    const { account = 'default' } = event;
    const created = {
      subject: event.subject,
      keyId,
      account,
      createdAt: time,
      reuseKey: custom ? null : reuseKeyOf(account, url),
      startsAt: dateOf(startsAt ?? null),
      expiresAt: dateOf(expiresAt),
      maxClicks,
      sequence: event.sequence,
      lastEventAt: time,
      // Last: in Node 20 each property after a spread costs a microsecond.
      ...initialFields,
    };
    if (event.type === 'linklog.LinkCreated.v4') return created;
    const { createdAt, clicks, visits } = event.data;
    return { ...created, createdAt: new Date(createdAt), clicks: clicks + visits };
  }
  if (link.status === 'none') return link;
  const { sequence } = event;
  // A log has no order between its topics: a rebuild folds all visits after the last link event.
  const lastEventAt = notBefore(time, link.lastEventAt);
  if (isVisit(event)) {
    if (event.data.click === null) return { ...link, lastEventAt };
    return {
      ...link,
      // A rebuild folds visits after the opening balance that an edit set.
      clicks: Math.max(link.clicks, event.data.click),
      visitSequence: Math.max(link.visitSequence, sequence),
      lastEventAt,
    };
  }
  switch (event.type) {
    case 'linklog.LinkEdited.v3': {
      const { data } = event;
      const { maxClicks = link.maxClicks } = data;
      const secured = securedBy(data);
      const { url } = data;
      const isMoved = link.reuseKey !== null && url !== undefined;
      return {
        ...link,
        reuseKey: isMoved ? reuseKeyOf(link.account, url) : link.reuseKey,
        startsAt: data.startsAt === undefined ? link.startsAt : dateOf(data.startsAt),
        expiresAt: data.expiresAt === undefined ? link.expiresAt : dateOf(data.expiresAt),
        maxClicks,
        clicks: Math.max(link.clicks, data.clicks ?? 0),
        expired: liftsExpiry(data) ? null : link.expired,
        cleared: link.cleared && !movesLink(data),
        edited: secured ? { ...link.edited, ...secured } : link.edited,
        sequence,
        lastEventAt,
      };
    }
    case 'linklog.LinkDescribed.v1':
    // Further codes are rows of their own: see ops/ledger/codes.ts.
    case 'linklog.LinkCodeAdded.v1':
    case 'linklog.LinkCodeRemoved.v1':
      return { ...link, sequence, lastEventAt };
    case 'linklog.LinkDisabled.v1':
      return { ...link, disabled: true, sequence, lastEventAt };
    case 'linklog.LinkEnabled.v1':
      return { ...link, disabled: false, sequence, lastEventAt };
    case 'linklog.LinkDeleted.v1':
      return { ...link, deleted: true, sequence, lastEventAt };
    case 'linklog.LinkRestored.v1':
      return { ...link, deleted: false, sequence, lastEventAt };
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
