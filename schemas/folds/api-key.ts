import type { ApiKeyEvent } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';
import type { PlanName } from '../plans.js';
import { isPersonId } from '../roles.js';
import { scopeNames, type Scope } from '../scopes.js';

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  /** `null`: the plan of its root key. */
  readonly plan: PlanName | null;
  readonly account: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: Date | null;
  /** The ids of its ancestors, the root first. A root key has none. */
  readonly ancestors: readonly string[];
  /** The person that created it; `null`: a key or an operator did. */
  readonly createdBy: string | null;
  /** The id of the key that deactivated it, itself or an ancestor; `null` if it is not inactive, or if unknown. */
  readonly deactivatedBy: string | null;
  /** The end of each secret, by its SHA-256 (hexadecimal). A rotation removes ended secrets. */
  readonly secrets: Readonly<Record<string, Date | null>>;
  readonly createdAt: Date;
  readonly sequence: number;
  readonly lastEventAt: Date;
}

/** The state of an API key. `suspended`: an operator switched it off. `revoked` is final. */
export type ApiKeyState =
  | { readonly status: 'none' }
  | { readonly status: 'active' | 'inactive' | 'suspended' | 'revoked'; readonly key: ApiKey };

export const noKey: ApiKeyState = { status: 'none' };

/** The id of the root key. For limits, a root and all its descendants are one key. */
export const rootIdOf = ({ id, ancestors }: Pick<ApiKey, 'id' | 'ancestors'>): string =>
  ancestors[0] ?? id;

const dateOf = (timestamp: string | null): Date | null =>
  timestamp === null ? null : new Date(timestamp);

/** The secrets that have not ended at `now`, each with an end of at most `end`. */
const withEnd = (secrets: ApiKey['secrets'], end: Date, now: Date): ApiKey['secrets'] =>
  Object.fromEntries(
    Object.entries(secrets)
      .map(([hash, endsAt]) => [hash, endsAt !== null && endsAt < end ? endsAt : end] as const)
      .filter(([, endsAt]) => now < endsAt),
  );

/** Applies an event to a key. The ledger's rows are changed in no other way. */
export const evolveApiKey = (state: ApiKeyState, event: ApiKeyEvent): ApiKeyState => {
  const { sequence } = event;
  const lastEventAt = new Date(event.time);
  if (event.type === 'linklog.ApiKeyCreated.v3') {
    const { hash, scopes, expiresAt, ...data } = event.data;
    const key = {
      ...data,
      scopes: scopes ?? scopeNames,
      id: event.subject,
      expiresAt: dateOf(expiresAt),
      createdBy: isPersonId(event.actor ?? '') ? (event.actor ?? null) : null,
      deactivatedBy: null,
      secrets: { [hash]: null },
      createdAt: lastEventAt,
      sequence,
      lastEventAt,
    };
    return { status: 'active', key };
  }
  if (state.status === 'none') throw new Error(`${event.type} of a key without ApiKeyCreated`);
  switch (event.type) {
    case 'linklog.ApiKeyChanged.v4': {
      const { status, scopes, expiresAt, ...data } = event.data;
      const terms = { scopes: scopes ?? scopeNames, expiresAt: dateOf(expiresAt) };
      return { status, key: { ...state.key, ...data, ...terms, sequence, lastEventAt } };
    }
    case 'linklog.ApiKeyRotated.v1': {
      const { hash, earlierEndAt } = event.data;
      const earlier = withEnd(state.key.secrets, new Date(earlierEndAt), lastEventAt);
      const secrets = { ...earlier, [hash]: null };
      return { ...state, key: { ...state.key, secrets, sequence, lastEventAt } };
    }
    case 'linklog.ApiKeyRevoked.v1':
      return { status: 'revoked', key: { ...state.key, sequence, lastEventAt } };
    default:
      return unknownEvent(event, 'api-key');
  }
};
