import type { EventNamed } from '../events/catalogue.js';

/** Who may use a reserved alias. */
export interface AliasOverride {
  /** `null`: nobody. */
  readonly account: string | null;
  readonly sequence: number;
  readonly lastEventAt: Date;
}

export type AliasOverrideEvent = EventNamed<'AliasOverrideGranted' | 'AliasOverrideRevoked'>;

export const noOverride: AliasOverride = { account: null, sequence: 0, lastEventAt: new Date(0) };

/** What an event makes of an override. The ledger's rows are changed in no other way. */
export const evolveAliasOverride = (
  _override: AliasOverride,
  event: AliasOverrideEvent,
): AliasOverride => ({
  account: event.type === 'linklog.AliasOverrideGranted.v1' ? event.data.account : null,
  sequence: event.sequence,
  lastEventAt: new Date(event.time),
});
