import type { EventNamed } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import { notBefore, type LedgerLinkState } from '../../schemas/folds/ledger-link.js';

/** A visitor of a link with a limit, who wants one of its clicks. */
export interface TakeClick {
  readonly code: string;
  readonly requestId: string;
}

export interface Circumstances {
  readonly now: Date;
  readonly newId: () => string;
}

export type ClickDecision =
  | {
      readonly type: 'taken';
      /** The visit; and the expiry, if it took the last click. */
      readonly events: readonly (EventNamed<'LinkVisited'> | EventNamed<'LinkExpired'>)[];
    }
  | { readonly type: 'refused'; readonly reason: 'notFound' | 'expired' | 'blocked' };

/** Gives out a link's clicks, exactly as many as it has. */
export const decideClick = (
  command: TakeClick,
  link: LedgerLinkState,
  { now, newId }: Circumstances,
): ClickDecision => {
  if (link.status === 'free') return { type: 'refused', reason: 'notFound' };
  if (link.blocked) return { type: 'refused', reason: 'blocked' };
  const { maxClicks, clicks, expiresAt, account } = link;
  const usedUp = maxClicks !== null && clicks >= maxClicks;
  const timeIsUp = expiresAt !== null && expiresAt <= now;
  if (link.expired !== null || usedUp || timeIsUp) return { type: 'refused', reason: 'expired' };

  const metadata = {
    subject: link.code,
    time: notBefore(now, link.lastEventAt),
    account,
    actor: 'visitor',
    correlationId: command.requestId,
  };
  const click = clicks + 1;
  const visitId = newId();
  const visited = newEvent(
    'LinkVisited',
    { click, bot: false },
    { ...metadata, id: visitId, sequence: click },
  );
  if (click !== maxClicks) return { type: 'taken', events: [visited] };
  const expired = newEvent(
    'LinkExpired',
    { reason: 'clicks' },
    { ...metadata, id: newId(), sequence: link.sequence + 1, causationId: visitId },
  );
  return { type: 'taken', events: [visited, expired] };
};
