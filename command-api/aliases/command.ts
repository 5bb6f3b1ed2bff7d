import {
  accepted,
  nextEvent,
  unchanged,
  type Command,
  type Decider,
} from '../../schemas/decision.js';
import { newEvent } from '../../schemas/events/codec.js';
import type { AliasOverrideEvent } from '../../schemas/events/catalogue.js';
import {
  evolveAliasOverride,
  noOverride,
  type AliasOverride,
} from '../../schemas/folds/alias-override.js';

/** Allows one account to use a reserved alias (the subject, lower case); `null` revokes this. */
type SetAliasOverride = Command<'SetAliasOverride', { readonly account: string | null }>;

export const aliasOverrideDecider: Decider<SetAliasOverride, AliasOverrideEvent, AliasOverride> = {
  initialState: noOverride,
  evolve: evolveAliasOverride,
  decide({ subject, data: { account }, metadata: command }, override) {
    if (override.account === account) return unchanged;
    const metadata = { ...nextEvent(override, command), subject };
    return accepted(
      account === null
        ? newEvent('AliasOverrideRevoked', {}, metadata)
        : newEvent('AliasOverrideGranted', { account }, { ...metadata, account }),
    );
  },
};
