import {
  accepted,
  nextEvent,
  refused,
  unchanged,
  type Command,
  type Decider,
} from '../../../schemas/decision.js';
import { newEvent } from '../../../schemas/events/codec.js';
import { statusOf } from '../../../schemas/folds/link-status.js';
import {
  evolveLedgerLink,
  initialState,
  type LedgerLinkEvent,
  type LedgerLinkState,
} from '../../../schemas/folds/ledger-link.js';

/** `BlockUnsafeLink` is a command of the web-safety check; the others are commands of operators. */
export type LinkBlockCommand = Command<
  'BlockLink' | 'UnblockLink' | 'BlockUnsafeLink',
  { readonly reason: string }
>;

/**
 * An operator may block and unblock a link at any time, even if it has expired. The web-safety check blocks only active
 * links, and no link that an operator has unblocked: otherwise the next check would revert the operator's decision.
 */
export const linkBlockDecider: Decider<
  LinkBlockCommand,
  LedgerLinkEvent,
  LedgerLinkState,
  { readonly type: 'notFound' }
> = {
  initialState,
  evolve: evolveLedgerLink,
  decide({ type, data: { reason }, metadata: command }, link) {
    if (link.status === 'none') return refused({ type: 'notFound' });
    if (link.blocked === (type !== 'UnblockLink')) return unchanged;
    if (type === 'BlockUnsafeLink' && (link.cleared || statusOf(link) !== 'active')) {
      return unchanged;
    }
    const metadata = { ...nextEvent(link, command), subject: link.subject, account: link.account };
    return accepted(
      type === 'UnblockLink'
        ? newEvent('LinkUnblocked', { reason }, metadata)
        : newEvent('LinkBlocked', { reason }, metadata),
    );
  },
};
