import type { EventNamed } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import { notBefore, type Claim } from '../../schemas/folds/claim.js';
import type { OperatorCircumstances } from './circumstances.js';

export interface LinkBlockCommand {
  readonly type: 'BlockLink' | 'UnblockLink';
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

/** A link may be blocked and unblocked at any time, expired or not. */
export const decideLinkBlock = (
  { type, reason }: LinkBlockCommand,
  claim: Claim,
  { now, newId, actor, requestId }: OperatorCircumstances,
): LinkBlockDecision => {
  if (claim.status === 'free') return { type: 'refused', reason: 'notFound' };
  if (claim.blocked === (type === 'BlockLink')) return { type: 'unchanged' };
  const metadata = {
    id: newId(),
    subject: claim.code,
    time: notBefore(now, claim.lastEventAt),
    sequence: claim.sequence + 1,
    account: claim.account,
    actor,
    correlationId: requestId,
  };
  const event =
    type === 'BlockLink'
      ? newEvent('LinkBlocked', { reason }, metadata)
      : newEvent('LinkUnblocked', { reason }, metadata);
  return { type: 'accepted', event };
};
