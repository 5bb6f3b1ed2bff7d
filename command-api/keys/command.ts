import {
  accepted,
  nextEvent,
  refused,
  unchanged,
  type Decision,
  type DecisionContext,
} from '../../schemas/decision.js';
import { newEvent, type EventMetadata } from '../../schemas/events/codec.js';
import type { ApiKeyEvent } from '../../schemas/events/catalogue.js';
import { rootIdOf, type ApiKey, type ApiKeyState } from '../../schemas/folds/api-key.js';
import type { PlanName } from '../../schemas/plans.js';
import { inOrder, type Scope } from '../../schemas/scopes.js';

/** Who asks: an operator, or a key, as the ledger has it at that moment. */
export type KeyAuthority = 'operator' | ApiKeyState;

/** What is new about a key, whoever makes it. `expiresIn` is in seconds. */
interface NewKey {
  readonly id: string;
  readonly name: string;
  readonly expiresIn: number | null;
  readonly hash: string;
}

export type ApiKeyCommand =
  /** An operator makes a root. */
  | (NewKey & {
      readonly type: 'CreateApiKey';
      readonly plan: PlanName;
      readonly account: string;
      readonly scopes: readonly Scope[];
    })
  /** A key makes a key that descends from it. */
  | (NewKey & {
      readonly type: 'DeriveApiKey';
      readonly by: ApiKeyState;
      /** `null`: all that the key has which makes it. */
      readonly scopes: readonly Scope[] | null;
      /** Keys of the account that are neither revoked nor expired. */
      readonly liveKeys: number;
    })
  | {
      readonly type: 'ChangeApiKey';
      readonly by: KeyAuthority;
      readonly name?: string | undefined;
      /** For operators alone. */
      readonly plan?: PlanName | undefined;
      readonly active?: boolean | undefined;
      readonly scopes?: readonly Scope[] | undefined;
      /** For operators alone; `null` takes the end away. */
      readonly expiresIn?: number | null | undefined;
    }
  | {
      readonly type: 'RotateApiKey';
      readonly by: ApiKeyState;
      readonly hash: string;
      readonly overlapSeconds: number;
    }
  | { readonly type: 'RevokeApiKey'; readonly by: KeyAuthority };

export type ApiKeyRefusal =
  | 'exists'
  /** There is no such key, or none that the asking key may manage. */
  | 'unknown'
  | 'revoked'
  /** The key that asks has ended meanwhile. */
  | 'askerInvalid'
  | 'tooManyKeys'
  | 'tooDeep'
  | 'tooManySecrets'
  /** An operator deactivated it, so no key can activate it. */
  | 'suspended'
  /** An ancestor of the asking key deactivated it. */
  | 'deactivatedAbove'
  /** A derived key has the plan of its root. */
  | 'planOfRoot'
  /** The key that asks lacks this scope. */
  | Scope;

export const maxLiveKeys = 100;
/** No chain of live keys is longer. */
const maxAncestors = 100;
export const maxSecrets = 100;

const after = (time: Date, seconds: number): Date => new Date(time.getTime() + seconds * 1_000);

/** The earlier of two ends; `null` is none. */
const earlier = (one: Date | null, other: Date | null): Date | null =>
  one === null || (other !== null && other < one) ? other : one;

const isOver = (end: Date | null, now: Date): boolean => end !== null && end <= now;

/** The key that asks, if it may manage keys now; otherwise why not. */
const managing = (by: ApiKeyState, now: Date): ApiKey | ApiKeyRefusal => {
  if (by.status !== 'active' || isOver(by.key.expiresAt, now)) return 'askerInvalid';
  return by.key.scopes.includes('keys:manage') ? by.key : 'keys:manage';
};

/** The first of the scopes that a key cannot give. */
const lacking = (scopes: readonly Scope[], { scopes: had }: ApiKey): Scope | undefined =>
  scopes.find((scope) => !had.includes(scope));

/** Whether a key may manage another one: itself, or a descendant that has nothing beyond its own scopes and end. */
const manages = (asking: ApiKey, key: ApiKey): boolean => {
  if (asking.id === key.id) return true;
  const endsWithin =
    asking.expiresAt === null || (key.expiresAt !== null && key.expiresAt <= asking.expiresAt);
  return key.ancestors.includes(asking.id) && endsWithin && !lacking(key.scopes, asking);
};

type Authority = ApiKey | 'operator';
type MadeKey = Exclude<ApiKeyState, { readonly status: 'none' }>;

/** What keeps a key from being activated by `asking`. */
const activationRefusal = (
  asking: Authority,
  { status, key }: MadeKey,
): 'suspended' | 'deactivatedAbove' | null => {
  if (asking === 'operator') return null;
  if (status === 'suspended') return 'suspended';
  // Events before version 3 do not name the key: then the root alone may activate it.
  const by = key.deactivatedBy ?? rootIdOf(key);
  return status === 'inactive' && asking.ancestors.includes(by) ? 'deactivatedAbove' : null;
};

const deactivation = (asking: Authority) =>
  asking === 'operator'
    ? ({ status: 'suspended', deactivatedBy: null } as const)
    : ({ status: 'inactive', deactivatedBy: asking.id } as const);

type KeyDecision = Decision<ApiKeyEvent, ApiKeyRefusal>;

const derive = (
  command: Extract<ApiKeyCommand, { readonly type: 'DeriveApiKey' }>,
  context: DecisionContext,
): KeyDecision => {
  const parent = managing(command.by, context.now);
  if (typeof parent === 'string') return refused(parent);
  const { id, name, hash, expiresIn } = command;
  const scopes = command.scopes ?? parent.scopes;
  const lacks = lacking(scopes, parent);
  if (lacks) return refused(lacks);
  if (command.liveKeys >= maxLiveKeys) return refused('tooManyKeys');
  if (parent.ancestors.length >= maxAncestors) return refused('tooDeep');
  const { account } = parent;
  const own = expiresIn === null ? null : after(context.now, expiresIn);
  const data = {
    ...{ name, plan: null, account, scopes: [...inOrder(scopes)], hash },
    expiresAt: earlier(own, parent.expiresAt)?.toISOString() ?? null,
    ancestors: [...parent.ancestors, parent.id],
  };
  const metadata = nextEvent({ sequence: 0, lastEventAt: context.now }, context);
  return accepted(newEvent('ApiKeyCreated', data, { ...metadata, subject: id, account }));
};

const change = (
  command: Extract<ApiKeyCommand, { readonly type: 'ChangeApiKey' }>,
  asking: Authority,
  state: MadeKey,
  metadata: EventMetadata,
): KeyDecision => {
  const { status, key } = state;
  if (status === 'revoked') return refused('revoked');
  const { name = key.name, plan = key.plan, active, expiresIn } = command;
  if (command.plan !== undefined && key.ancestors.length > 0) return refused('planOfRoot');
  const lacks = asking === 'operator' ? undefined : lacking(command.scopes ?? [], asking);
  if (lacks) return refused(lacks);
  const holds = activationRefusal(asking, state);
  if (active === true && holds) return refused(holds);
  const activation =
    active === undefined || holds
      ? { status, deactivatedBy: key.deactivatedBy }
      : active
        ? ({ status: 'active', deactivatedBy: null } as const)
        : deactivation(asking);
  const scopes = inOrder(command.scopes ?? key.scopes);
  const next = {
    name,
    plan,
    scopes: [...scopes],
    expiresAt:
      (expiresIn === undefined
        ? key.expiresAt
        : expiresIn === null
          ? null
          : after(metadata.time, expiresIn)
      )?.toISOString() ?? null,
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

/** Keys may be changed until they are revoked; that is for good. */
export const decideApiKey = (
  command: ApiKeyCommand,
  state: ApiKeyState,
  context: DecisionContext,
): KeyDecision => {
  if (command.type === 'CreateApiKey' || command.type === 'DeriveApiKey') {
    if (state.status !== 'none') return refused('exists');
    if (command.type === 'DeriveApiKey') return derive(command, context);
    const { id, name, plan, account, expiresIn, hash } = command;
    const data = {
      ...{ name, plan, account, scopes: [...inOrder(command.scopes)], ancestors: [], hash },
      expiresAt: expiresIn === null ? null : after(context.now, expiresIn).toISOString(),
    };
    const metadata = nextEvent({ sequence: 0, lastEventAt: context.now }, context);
    return accepted(newEvent('ApiKeyCreated', data, { ...metadata, subject: id, account }));
  }
  const asking = command.by === 'operator' ? command.by : managing(command.by, context.now);
  if (typeof asking === 'string' && asking !== 'operator') return refused(asking);
  if (state.status === 'none') return refused('unknown');
  const { key } = state;
  if (asking !== 'operator' && !manages(asking, key)) return refused('unknown');
  const metadata = { ...nextEvent(key, context), subject: key.id, account: key.account };
  switch (command.type) {
    case 'ChangeApiKey':
      return change(command, asking, state, metadata);
    case 'RotateApiKey': {
      if (state.status === 'revoked') return refused('revoked');
      const { hash, overlapSeconds } = command;
      const live = Object.values(key.secrets).filter((end) => !isOver(end, metadata.time));
      if (overlapSeconds > 0 && live.length >= maxSecrets) return refused('tooManySecrets');
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
