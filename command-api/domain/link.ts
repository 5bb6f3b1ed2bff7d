import {
  accepted,
  nextEvent,
  refused,
  unchanged,
  type Decision,
  type DecisionContext,
} from '../../schemas/decision.js';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import type { LedgerLinkState } from '../../schemas/folds/ledger-link.js';

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

/** Why the ledger made no link. */
export type ShortenRefusal = 'aliasTaken' | 'linksExhausted';

/** What became of a request for a link. */
export type ShortenOutcome =
  | { readonly type: 'created'; readonly event: EventNamed<'LinkCreated'> }
  | { readonly type: ShortenRefusal };

/** A code is given out once and for all. */
export const decideCreateLink = (
  { code: subject, custom, url, expiresIn, maxClicks, passwordHash, keyId, account }: CreateLink,
  link: LedgerLinkState,
  context: DecisionContext,
): Decision<EventNamed<'LinkCreated'>, 'codeTaken'> => {
  if (link.status === 'taken') return refused('codeTaken');
  const { now } = context;
  const expiresAt =
    expiresIn === null ? null : new Date(now.getTime() + expiresIn * 1_000).toISOString();
  const data = { url, custom, expiresAt, maxClicks, passwordHash, keyId };
  const metadata = nextEvent({ sequence: 0, lastEventAt: now }, context);
  return accepted(newEvent('LinkCreated', data, { ...metadata, subject, account }));
};

/** A link expires once; a block does not keep it from expiring. */
export const decideExpireLink = (
  link: LedgerLinkState,
  context: DecisionContext,
): Decision<EventNamed<'LinkExpired'>> => {
  const isDue =
    link.status === 'taken' &&
    link.expired === null &&
    link.expiresAt !== null &&
    link.expiresAt <= context.now;
  if (!isDue) return unchanged;
  const metadata = { ...nextEvent(link, context), subject: link.code, account: link.account };
  return accepted(newEvent('LinkExpired', { reason: 'time' }, metadata));
};
