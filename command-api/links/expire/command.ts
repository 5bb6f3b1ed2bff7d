import {
  accepted,
  nextEvent,
  unchanged,
  type Command,
  type Decider,
} from '../../../schemas/decision.js';
import { newEvent } from '../../../schemas/events/codec.js';
import {
  evolveLedgerLink,
  initialState,
  type LedgerLinkEvent,
  type LedgerLinkState,
} from '../../../schemas/folds/ledger-link.js';

type ExpireLink = Command<'ExpireLink', null>;

/** Expires a link whose end has passed, once, unless it is deleted. */
export const expireLinkDecider: Decider<ExpireLink, LedgerLinkEvent, LedgerLinkState> = {
  initialState,
  evolve: evolveLedgerLink,
  decide({ metadata: command }, link) {
    const isDue =
      link.status === 'taken' &&
      !link.deleted &&
      link.expired === null &&
      link.expiresAt !== null &&
      link.expiresAt <= command.now;
    if (!isDue) return unchanged;
    const metadata = { ...nextEvent(link, command), subject: link.subject, account: link.account };
    return accepted(newEvent('LinkExpired', { reason: 'time' }, metadata));
  },
};
