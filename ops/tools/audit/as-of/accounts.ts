import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import type {
  AliasOverride,
  AliasOverrideEvent,
} from '../../../../schemas/folds/alias-override.js';
import type { ApiKeyEvent, ApiKeyState } from '../../../../schemas/folds/api-key.js';
import { foldKeys, foldOverrides } from '../../../ledger/rebuild/folds.js';

export type KnownKey = Exclude<ApiKeyState, { readonly status: 'none' }>;

const isKeyEvent = (event: LinklogEvent): event is ApiKeyEvent =>
  event.type === 'linklog.ApiKeyCreated.v1' ||
  event.type === 'linklog.ApiKeyChanged.v1' ||
  event.type === 'linklog.ApiKeyRevoked.v1';

const isOverrideEvent = (event: LinklogEvent): event is AliasOverrideEvent =>
  event.type === 'linklog.AliasOverrideGranted.v1' ||
  event.type === 'linklog.AliasOverrideRevoked.v1';

/** Keys and overrides, as events of the topic of accounts tell. There are few of them. */
export class Accounts {
  readonly keys = new Map<string, KnownKey>();
  readonly overrides = new Map<string, AliasOverride>();
  /** Who did the last thing to each key. */
  readonly lastActors = new Map<string, string>();

  add(events: readonly LinklogEvent[]): void {
    for (const event of events.filter(isKeyEvent)) {
      for (const [id, state] of foldKeys(this.keys, [event])) {
        this.keys.set(id, state);
        this.lastActors.set(id, event.actor ?? 'unknown');
      }
    }
    const overrides = foldOverrides(this.overrides, events.filter(isOverrideEvent));
    for (const [alias, override] of overrides) this.overrides.set(alias, override);
  }
}
