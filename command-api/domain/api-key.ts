import { newEvent } from '../../schemas/events/codec.js';
import type { ApiKeyEvent, ApiKeyState } from '../../schemas/folds/api-key.js';
import { notBefore } from '../../schemas/folds/ledger-link.js';
import type { PlanName } from '../../schemas/plans.js';

export type ApiKeyCommand =
  | {
      readonly type: 'CreateApiKey';
      readonly id: string;
      readonly name: string;
      readonly plan: PlanName;
      readonly account: string;
      readonly hash: string;
    }
  | {
      readonly type: 'ChangeApiKey';
      readonly name?: string | undefined;
      readonly plan?: PlanName | undefined;
      readonly active?: boolean | undefined;
    }
  | { readonly type: 'RevokeApiKey' };

/** Who asked, in which request, and when. */
export interface Circumstances {
  readonly now: Date;
  readonly eventId: string;
  readonly actor: string;
  readonly requestId: string;
}

export type ApiKeyDecision =
  | { readonly type: 'accepted'; readonly event: ApiKeyEvent }
  /** What was asked for is so already. */
  | { readonly type: 'unchanged' }
  | { readonly type: 'refused'; readonly reason: 'exists' | 'unknown' | 'revoked' };

/** Keys may be changed until they are revoked; that is for good. */
export const decideApiKey = (
  command: ApiKeyCommand,
  state: ApiKeyState,
  { now, eventId, actor, requestId }: Circumstances,
): ApiKeyDecision => {
  const origin = { id: eventId, actor, correlationId: requestId };
  if (command.type === 'CreateApiKey') {
    if (state.status !== 'none') return { type: 'refused', reason: 'exists' };
    const { id, name, plan, account, hash } = command;
    const metadata = { ...origin, subject: id, time: now, sequence: 1, account };
    const event = newEvent('ApiKeyCreated', { name, plan, account, hash }, metadata);
    return { type: 'accepted', event };
  }
  if (state.status === 'none') return { type: 'refused', reason: 'unknown' };
  const { key } = state;
  const metadata = {
    ...origin,
    subject: key.id,
    time: notBefore(now, key.lastEventAt),
    sequence: key.sequence + 1,
    account: key.account,
  };
  switch (command.type) {
    case 'ChangeApiKey': {
      if (state.status === 'revoked') return { type: 'refused', reason: 'revoked' };
      const active = state.status === 'active';
      const next = {
        name: command.name ?? key.name,
        plan: command.plan ?? key.plan,
        active: command.active ?? active,
      };
      const same = next.name === key.name && next.plan === key.plan && next.active === active;
      if (same) return { type: 'unchanged' };
      return { type: 'accepted', event: newEvent('ApiKeyChanged', next, metadata) };
    }
    case 'RevokeApiKey':
      if (state.status === 'revoked') return { type: 'unchanged' };
      return { type: 'accepted', event: newEvent('ApiKeyRevoked', {}, metadata) };
    default: {
      const unknown: never = command;
      return unknown;
    }
  }
};
