import type { EventNamed } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import { notBefore, type LedgerLinkState } from '../../schemas/folds/ledger-link.js';
import type { OperatorCircumstances } from './circumstances.js';

export interface LinkBlockCommand {
  /** `BlockUnsafeLink` is the web-safety check's, the others are operators'. */
  readonly type: 'BlockLink' | 'UnblockLink' | 'BlockUnsafeLink';
  readonly reason: string;
}

export type LinkBlockDecision =
  | {
      readonly type: 'accepted';
      readonly event: EventNamed<'LinkBlocked'> | EventNamed<'LinkUnblocked'>;
    }
  /** It is as asked for already. */
  | { readonly type: 'unchanged' }
  | { readonly type: 'refused'; readonly reason: 'notFound' };

/**
 * An operator may block and unblock a link at any time, expired or not. The web-safety check blocks
 * what is live, and never what an operator has unblocked: lists err, and go on saying what they said,
 * so the next look would undo what a person has decided.
 */
export const decideLinkBlock = (
  { type, reason }: LinkBlockCommand,
  link: LedgerLinkState,
  { now, newId, actor, requestId }: OperatorCircumstances,
): LinkBlockDecision => {
  if (link.status === 'free') return { type: 'refused', reason: 'notFound' };
  if (link.blocked === (type !== 'UnblockLink')) return { type: 'unchanged' };
  if (type === 'BlockUnsafeLink' && (link.cleared || link.expired !== null)) {
    return { type: 'unchanged' };
  }
  const metadata = {
    id: newId(),
    subject: link.code,
    time: notBefore(now, link.lastEventAt),
    sequence: link.sequence + 1,
    account: link.account,
    actor,
    correlationId: requestId,
  };
  const event =
    type === 'UnblockLink'
      ? newEvent('LinkUnblocked', { reason }, metadata)
      : newEvent('LinkBlocked', { reason }, metadata);
  return { type: 'accepted', event };
};
