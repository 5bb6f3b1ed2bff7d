import {
  accepted,
  nextEvent,
  unchanged,
  type Decision,
  type DecisionContext,
} from '../../schemas/decision.js';
import { newEvent } from '../../schemas/events/codec.js';
import type { AliasOverrideEvent } from '../../schemas/events/catalogue.js';
import type { AliasOverride } from '../../schemas/folds/alias-override.js';

/** Lets one account use a reserved alias, or (`null`) nobody any more. */
export interface SetAliasOverride {
  /** Lower case. */
  readonly alias: string;
  readonly account: string | null;
}

export const decideAliasOverride = (
  { alias: subject, account }: SetAliasOverride,
  override: AliasOverride,
  context: DecisionContext,
): Decision<AliasOverrideEvent> => {
  if (override.account === account) return unchanged;
  const metadata = { ...nextEvent(override, context), subject };
  return accepted(
    account === null
      ? newEvent('AliasOverrideRevoked', {}, metadata)
      : newEvent('AliasOverrideGranted', { account }, { ...metadata, account }),
  );
};
