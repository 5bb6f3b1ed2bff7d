import { newEvent } from '../../schemas/events/codec.js';
import type { AliasOverride, AliasOverrideEvent } from '../../schemas/folds/alias-override.js';
import { notBefore } from '../../schemas/folds/ledger-link.js';
import type { OperatorCircumstances } from './circumstances.js';

/** Lets one account use a reserved alias, or (`null`) nobody any more. */
export interface SetAliasOverride {
  /** Lower case. */
  readonly alias: string;
  readonly account: string | null;
}

/** The event that makes it so, or `null` where it is so already. */
export const decideAliasOverride = (
  { alias, account }: SetAliasOverride,
  override: AliasOverride,
  { now, newId, actor, requestId }: OperatorCircumstances,
): AliasOverrideEvent | null => {
  if (override.account === account) return null;
  const metadata = {
    id: newId(),
    subject: alias,
    time: notBefore(now, override.lastEventAt),
    sequence: override.sequence + 1,
    actor,
    correlationId: requestId,
  };
  return account === null
    ? newEvent('AliasOverrideRevoked', {}, metadata)
    : newEvent('AliasOverrideGranted', { account }, { ...metadata, account });
};
