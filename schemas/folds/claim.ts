import type { EventNamed, LinkEvent } from '../events/catalogue.js';
import type { ExpiryReason } from './link.js';

/** What the ledger must know of a code to decide about it exactly. */
export type Claim = { readonly status: 'free' } | ClaimedCode;

export interface ClaimedCode {
  readonly status: 'claimed';
  readonly code: string;
  readonly keyId: string;
  readonly account: string;
  readonly expired: ExpiryReason | null;
  readonly blocked: boolean;
  /** An operator has lifted a block: what the web-safety check finds later is his to judge. */
  readonly cleared: boolean;
  readonly expiresAt: Date | null;
  readonly maxClicks: number | null;
  /** How many of `maxClicks` are taken. */
  readonly clicks: number;
  /** Of the link's last event in the topic of links. */
  readonly sequence: number;
  /** No later event of the link may have an earlier time. */
  readonly lastEventAt: Date;
}

export type ClaimEvent = LinkEvent | EventNamed<'LinkVisited'>;

export const freeCode: Claim = { status: 'free' };

/** A time for the next event: now, but never before the last one. */
export const notBefore = (now: Date, last: Date): Date => (now < last ? last : now);

/** What an event makes of a claim. The ledger's rows are changed in no other way. */
export const evolveClaim = (claim: Claim, event: ClaimEvent): Claim => {
  const time = new Date(event.time);
  if (event.type === 'linklog.LinkCreated.v1') {
    const { keyId, expiresAt, maxClicks } = event.data;
    return {
      status: 'claimed',
      code: event.subject,
      keyId,
      account: event.account ?? 'default',
      expired: null,
      blocked: false,
      cleared: false,
      expiresAt: expiresAt === null ? null : new Date(expiresAt),
      maxClicks,
      clicks: 0,
      sequence: event.sequence,
      lastEventAt: time,
    };
  }
  if (claim.status === 'free') throw new Error(`${event.type} of a code that nobody claimed`);
  const { sequence } = event;
  // A log has no order between its topics: a rebuild folds all visits after the last link event.
  const lastEventAt = notBefore(time, claim.lastEventAt);
  switch (event.type) {
    case 'linklog.LinkVisited.v1':
      return { ...claim, clicks: event.data.click ?? claim.clicks, lastEventAt };
    case 'linklog.LinkExpired.v1':
      return { ...claim, expired: event.data.reason, sequence, lastEventAt };
    case 'linklog.LinkBlocked.v1':
      return { ...claim, blocked: true, sequence, lastEventAt };
    case 'linklog.LinkUnblocked.v1':
      return { ...claim, blocked: false, cleared: true, sequence, lastEventAt };
    default: {
      const unknown: never = event;
      throw new Error(`No fold of ${JSON.stringify(unknown)}`);
    }
  }
};
