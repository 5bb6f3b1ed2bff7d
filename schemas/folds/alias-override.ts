import type { AliasOverrideEvent } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';

export interface AliasOverride {
  /** `null`: no account. */
  readonly account: string | null;
  readonly sequence: number;
  readonly lastEventAt: Date;
}

export const noOverride: AliasOverride = { account: null, sequence: 0, lastEventAt: new Date(0) };

/** Applies an event to an override. The ledger's rows are changed in no other way. */
export const evolveAliasOverride = (
  _override: AliasOverride,
  event: AliasOverrideEvent,
): AliasOverride => {
  const next = { sequence: event.sequence, lastEventAt: new Date(event.time) };
  switch (event.type) {
    case 'linklog.AliasOverrideGranted.v1':
      return { ...next, account: event.data.account };
    case 'linklog.AliasOverrideRevoked.v1':
      return { ...next, account: null };
    default:
      return unknownEvent(event, 'alias-override');
  }
};
