import {
  accepted,
  nextEvent,
  refused,
  unchanged,
  type Decision,
  type DecisionContext,
} from '../../../schemas/decision.js';
import type { EventNamed } from '../../../schemas/events/catalogue.js';
import { newEvent } from '../../../schemas/events/codec.js';
import { statusOf } from '../../../schemas/folds/link-status.js';
import type { LedgerLinkState } from '../../../schemas/folds/ledger-link.js';

export interface LinkBlockCommand {
  /** `BlockUnsafeLink` is the web-safety check's, the others are operators'. */
  readonly type: 'BlockLink' | 'UnblockLink' | 'BlockUnsafeLink';
  readonly reason: string;
}

/**
 * An operator may block and unblock a link at any time, expired or not. The web-safety check blocks
 * only live links, and never one that an operator has unblocked: its lists would block that link again
 * at the next check, against the operator's decision.
 */
export const decideLinkBlock = (
  { type, reason }: LinkBlockCommand,
  link: LedgerLinkState,
  context: DecisionContext,
): Decision<EventNamed<'LinkBlocked' | 'LinkUnblocked'>, 'notFound'> => {
  if (link.status === 'none') return refused('notFound');
  if (link.blocked === (type !== 'UnblockLink')) return unchanged;
  if (type === 'BlockUnsafeLink' && (link.cleared || statusOf(link) !== 'active')) return unchanged;
  const metadata = { ...nextEvent(link, context), subject: link.code, account: link.account };
  return accepted(
    type === 'UnblockLink'
      ? newEvent('LinkUnblocked', { reason }, metadata)
      : newEvent('LinkBlocked', { reason }, metadata),
  );
};
