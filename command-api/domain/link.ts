import type { EventNamed } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import { notBefore, type LedgerLinkState } from '../../schemas/folds/ledger-link.js';

/** A request for a code; checked already, save for what only the ledger can tell. */
export interface CreateLink {
  readonly code: string;
  /** Asked for, or generated. */
  readonly custom: boolean;
  readonly url: string;
  /** Seconds. */
  readonly expiresIn: number | null;
  readonly maxClicks: number | null;
  readonly passwordHash: string | null;
  readonly keyId: string;
  readonly account: string;
  readonly requestId: string;
}

/** What a decision needs from outside. */
export interface Circumstances {
  readonly now: Date;
  readonly eventId: string;
}

export type CreateLinkDecision =
  | { readonly type: 'accepted'; readonly event: EventNamed<'LinkCreated'> }
  | { readonly type: 'refused'; readonly reason: 'codeTaken' };

export type ExpireLinkDecision =
  | { readonly type: 'accepted'; readonly event: EventNamed<'LinkExpired'> }
  | { readonly type: 'refused'; readonly reason: 'nothingToExpire' };

/** A code is given out once and for all. */
export const decideCreateLink = (
  command: CreateLink,
  link: LedgerLinkState,
  { now, eventId }: Circumstances,
): CreateLinkDecision => {
  if (link.status === 'taken') return { type: 'refused', reason: 'codeTaken' };
  const { code, custom, url, expiresIn, maxClicks, passwordHash } = command;
  const { keyId, account, requestId } = command;
  const expiresAt =
    expiresIn === null ? null : new Date(now.getTime() + expiresIn * 1_000).toISOString();
  const event = newEvent(
    'LinkCreated',
    { url, custom, expiresAt, maxClicks, passwordHash, keyId },
    {
      id: eventId,
      subject: code,
      time: now,
      sequence: 1,
      account,
      actor: keyId,
      correlationId: requestId,
    },
  );
  return { type: 'accepted', event };
};

/** A link expires once; a block does not keep it from expiring. */
export const decideExpireLink = (
  link: LedgerLinkState,
  { now, eventId }: Circumstances,
): ExpireLinkDecision => {
  const due =
    link.status === 'taken' &&
    link.expired === null &&
    link.expiresAt !== null &&
    link.expiresAt <= now;
  if (!due) return { type: 'refused', reason: 'nothingToExpire' };
  const event = newEvent(
    'LinkExpired',
    { reason: 'time' },
    {
      id: eventId,
      subject: link.code,
      time: notBefore(now, link.lastEventAt),
      sequence: link.sequence + 1,
      account: link.account,
      actor: 'system',
    },
  );
  return { type: 'accepted', event };
};
