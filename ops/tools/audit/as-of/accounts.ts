import {
  isAliasOverrideEvent,
  isApiKeyEvent,
  type LinklogEvent,
} from '../../../../schemas/events/catalogue.js';
import type { AliasOverride } from '../../../../schemas/folds/alias-override.js';
import type { ApiKeyState } from '../../../../schemas/folds/api-key.js';
import { foldKeys, foldOverrides } from '../../../ledger/rebuild/folds.js';

export type KnownKey = Exclude<ApiKeyState, { readonly status: 'none' }>;

/** Keys and overrides, as events of the topic of accounts tell. There are few of them. */
export class Accounts {
  readonly keys = new Map<string, KnownKey>();
  readonly overrides = new Map<string, AliasOverride>();
  /** Who did the last thing to each key. */
  readonly lastActors = new Map<string, string>();

  add(events: readonly LinklogEvent[]): void {
    for (const event of events.filter(isApiKeyEvent)) {
      for (const [id, state] of foldKeys(this.keys, [event])) {
        this.keys.set(id, state);
        this.lastActors.set(id, event.actor ?? 'unknown');
      }
    }
    const overrides = foldOverrides(this.overrides, events.filter(isAliasOverrideEvent));
    for (const [alias, override] of overrides) this.overrides.set(alias, override);
  }
}
