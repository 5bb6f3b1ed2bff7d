import {
  accepted,
  nextEvent,
  refused,
  unchanged,
  type Command,
  type CommandMetadata,
  type Decider,
  type Decision,
} from '../../schemas/decision.js';
import { newEvent, type EventMetadata } from '../../schemas/events/codec.js';
import type { ApiKeyEvent } from '../../schemas/events/catalogue.js';
import {
  evolveApiKey,
  noKey,
  rootIdOf,
  type ApiKey,
  type ApiKeyState,
} from '../../schemas/folds/api-key.js';
import type { PlanName } from '../../schemas/plans.js';
import { inOrder, storedScopes, type Scope } from '../../schemas/scopes.js';

/** An operator, or the state of the calling key at that moment. */
export type KeyAuthority = 'operator' | ApiKeyState;

interface NewKey {
  readonly name: string;
  /** Seconds; `null`: never. */
  readonly expiresIn: number | null;
  readonly hash: string;
}

/** An operator creates a root. */
export type CreateApiKey = Command<
  'CreateApiKey',
  NewKey & {
    readonly plan: PlanName;
    readonly account: string;
    readonly scopes: readonly Scope[];
  }
>;

export type DeriveApiKey = Command<
  'DeriveApiKey',
  NewKey & {
    readonly by: ApiKeyState;
    /** `null`: all scopes of the creating key. */
    readonly scopes: readonly Scope[] | null;
    /** Keys of the account that are neither revoked nor expired. */
    readonly liveKeys: number;
  }
>;

export interface KeyChanges {
  readonly name?: string | undefined;
  /** Only operators may set it. */
  readonly plan?: PlanName | undefined;
  readonly active?: boolean | undefined;
  readonly scopes?: readonly Scope[] | undefined;
  /** Seconds, only for operators; `null` removes the end. */
  readonly expiresIn?: number | null | undefined;
}

export type ChangeApiKey = Command<'ChangeApiKey', KeyChanges & { readonly by: KeyAuthority }>;

export type RotateApiKey = Command<
  'RotateApiKey',
  { readonly by: ApiKeyState; readonly hash: string; readonly overlapSeconds: number }
>;

export type RevokeApiKey = Command<'RevokeApiKey', { readonly by: KeyAuthority }>;

/** The subject is the ID of the key. */
export type ApiKeyCommand =
  CreateApiKey | DeriveApiKey | ChangeApiKey | RotateApiKey | RevokeApiKey;

export type ApiKeyRefusal =
  | { readonly type: 'exists' }
  /** The key does not exist, or the calling key may not manage it. */
  | { readonly type: 'unknown' }
  | { readonly type: 'revoked' }
  /** The calling key is no longer valid. */
  | { readonly type: 'callerInvalid' }
  | { readonly type: 'tooManyKeys' }
  | { readonly type: 'tooDeep' }
  | { readonly type: 'tooManySecrets' }
  /** An operator deactivated it, so no key can activate it. */
  | { readonly type: 'suspended' }
  /** An ancestor of the calling key deactivated it. */
  | { readonly type: 'deactivatedAbove' }
  /** A derived key has the plan of its root. */
  | { readonly type: 'planOfRoot' }
  /** The calling key lacks this scope. */
  | { readonly type: 'scopeLacking'; readonly scope: Scope };

export const maxLiveKeys = 100;
/** The maximum depth of a chain of live keys. */
const maxAncestors = 100;
export const maxSecrets = 100;

const after = (time: Date, seconds: number): Date => new Date(time.getTime() + seconds * 1_000);

/** The earlier of two ends; `null`: no end. */
const earlier = (a: Date | null, b: Date | null): Date | null =>
  a === null || (b !== null && b < a) ? b : a;

const isOver = (end: Date | null, now: Date): boolean => end !== null && end <= now;

/** The calling key, if it may manage keys now. */
const callingKey = (by: ApiKeyState, now: Date) => {
  if (by.status !== 'active' || isOver(by.key.expiresAt, now)) {
    return refused({ type: 'callerInvalid' });
  }
  const scope = 'keys:manage';
  return by.key.scopes.includes(scope)
    ? ({ type: 'found', caller: by.key } as const)
    : refused({ type: 'scopeLacking', scope });
};

const lacking = (scopes: readonly Scope[], key: ApiKey): Scope | undefined =>
  scopes.find((scope) => !key.scopes.includes(scope));

/** A key manages itself and the descendants whose scopes and end are within its own. */
const manages = (caller: ApiKey, key: ApiKey): boolean => {
  if (caller.id === key.id) return true;
  const endsWithin =
    caller.expiresAt === null || (key.expiresAt !== null && key.expiresAt <= caller.expiresAt);
  return key.ancestors.includes(caller.id) && endsWithin && !lacking(key.scopes, caller);
};

type Authority = ApiKey | 'operator';
type ExistingKey = Exclude<ApiKeyState, { readonly status: 'none' }>;

/**
 * Whether one of these ancestors deactivated a key. Events before version 3 do not name the key that did; then only the
 * root may activate it.
 */
export const isDeactivatedBy = (
  ancestors: readonly string[],
  { status, key }: ExistingKey,
): boolean => status === 'inactive' && ancestors.includes(key.deactivatedBy ?? rootIdOf(key));

/** Why a key may not be activated by its caller; `null` if it may. */
const activationRefusal = (
  caller: Authority,
  state: ExistingKey,
): { readonly type: 'suspended' | 'deactivatedAbove' } | null => {
  if (caller === 'operator') return null;
  if (state.status === 'suspended') return { type: 'suspended' };
  return isDeactivatedBy(caller.ancestors, state) ? { type: 'deactivatedAbove' } : null;
};

const deactivation = (caller: Authority) =>
  caller === 'operator'
    ? ({ status: 'suspended', deactivatedBy: null } as const)
    : ({ status: 'inactive', deactivatedBy: caller.id } as const);

const firstEvent = (
  subject: string,
  account: string,
  metadata: CommandMetadata,
): EventMetadata => ({
  ...nextEvent({ sequence: 0, lastEventAt: metadata.now }, metadata),
  subject,
  account,
});

type KeyDecision = Decision<ApiKeyEvent, ApiKeyRefusal>;

const expiry = (now: Date, expiresIn: number | null): Date | null =>
  expiresIn === null ? null : after(now, expiresIn);

const create = ({ subject, data, metadata }: CreateApiKey): KeyDecision => {
  const { name, plan, account, scopes, expiresIn, hash } = data;
  const created = {
    ...{ name, plan, account, scopes: storedScopes(inOrder(scopes)), ancestors: [], hash },
    expiresAt: expiry(metadata.now, expiresIn)?.toISOString() ?? null,
  };
  return accepted(newEvent('ApiKeyCreated', created, firstEvent(subject, account, metadata)));
};

const derive = ({ subject, data, metadata }: DeriveApiKey): KeyDecision => {
  const { by, name, hash, expiresIn } = data;
  const found = callingKey(by, metadata.now);
  if (found.type === 'refused') return found;
  const { caller: parent } = found;
  const scopes = data.scopes ?? parent.scopes;
  const scope = lacking(scopes, parent);
  if (scope) return refused({ type: 'scopeLacking', scope });
  if (data.liveKeys >= maxLiveKeys) return refused({ type: 'tooManyKeys' });
  if (parent.ancestors.length >= maxAncestors) return refused({ type: 'tooDeep' });
  const { account } = parent;
  const end = earlier(expiry(metadata.now, expiresIn), parent.expiresAt);
  const created = {
    ...{ name, plan: null, account, scopes: storedScopes(inOrder(scopes)), hash },
    expiresAt: end?.toISOString() ?? null,
    ancestors: [...parent.ancestors, parent.id],
  };
  return accepted(newEvent('ApiKeyCreated', created, firstEvent(subject, account, metadata)));
};

const change = (
  { data }: ChangeApiKey,
  caller: Authority,
  state: ExistingKey,
  metadata: EventMetadata,
): KeyDecision => {
  const { status, key } = state;
  if (status === 'revoked') return refused({ type: 'revoked' });
  const { name = key.name, plan = key.plan, active, expiresIn } = data;
  if (data.plan !== undefined && key.ancestors.length > 0) return refused({ type: 'planOfRoot' });
  const scope = caller === 'operator' ? undefined : lacking(data.scopes ?? [], caller);
  if (scope) return refused({ type: 'scopeLacking', scope });
  const refusal = activationRefusal(caller, state);
  if (active === true && refusal) return refused(refusal);
  const activation =
    active === undefined || refusal
      ? { status, deactivatedBy: key.deactivatedBy }
      : active
        ? ({ status: 'active', deactivatedBy: null } as const)
        : deactivation(caller);
  const scopes = inOrder(data.scopes ?? key.scopes);
  const next = {
    ...{ name, plan, scopes: storedScopes(scopes) },
    expiresAt:
      (expiresIn === undefined ? key.expiresAt : expiry(metadata.time, expiresIn))?.toISOString() ??
      null,
    ...activation,
  };
  const same =
    next.name === key.name &&
    next.plan === key.plan &&
    next.status === status &&
    next.deactivatedBy === key.deactivatedBy &&
    next.expiresAt === (key.expiresAt?.toISOString() ?? null) &&
    String(scopes) === String(key.scopes);
  if (same) return unchanged;
  return accepted(newEvent('ApiKeyChanged', next, metadata));
};

const decide = (command: ApiKeyCommand, state: ApiKeyState): KeyDecision => {
  if (command.type === 'CreateApiKey' || command.type === 'DeriveApiKey') {
    if (state.status !== 'none') return refused({ type: 'exists' });
    return command.type === 'CreateApiKey' ? create(command) : derive(command);
  }
  const { by } = command.data;
  const found = by === 'operator' ? null : callingKey(by, command.metadata.now);
  if (found?.type === 'refused') return found;
  const caller = found?.caller ?? 'operator';
  if (state.status === 'none') return refused({ type: 'unknown' });
  const { key } = state;
  if (caller !== 'operator' && !manages(caller, key)) return refused({ type: 'unknown' });
  const metadata = { ...nextEvent(key, command.metadata), subject: key.id, account: key.account };
  switch (command.type) {
    case 'ChangeApiKey':
      return change(command, caller, state, metadata);
    case 'RotateApiKey': {
      if (state.status === 'revoked') return refused({ type: 'revoked' });
      const { hash, overlapSeconds } = command.data;
      const live = Object.values(key.secrets).filter((end) => !isOver(end, metadata.time));
      if (overlapSeconds > 0 && live.length >= maxSecrets) {
        return refused({ type: 'tooManySecrets' });
      }
      const earlierEndAt = after(metadata.time, overlapSeconds).toISOString();
      return accepted(newEvent('ApiKeyRotated', { hash, earlierEndAt }, metadata));
    }
    case 'RevokeApiKey':
      if (state.status === 'revoked') return unchanged;
      return accepted(newEvent('ApiKeyRevoked', {}, metadata));
    default: {
      const unknown: never = command;
      return unknown;
    }
  }
};

/** A key can be changed until it is revoked; a revocation is permanent. */
export const apiKeyDecider: Decider<ApiKeyCommand, ApiKeyEvent, ApiKeyState, ApiKeyRefusal> = {
  initialState: noKey,
  evolve: evolveApiKey,
  decide,
};
