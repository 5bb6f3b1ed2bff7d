import {
  accepted,
  nextEvent,
  refused,
  unchanged,
  type Decision,
  type DecisionContext,
} from '../../schemas/decision.js';
import { newEvent } from '../../schemas/events/codec.js';
import type { ApiKeyEvent } from '../../schemas/events/catalogue.js';
import type { ApiKeyState } from '../../schemas/folds/api-key.js';
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

export type ApiKeyRefusal = 'exists' | 'unknown' | 'revoked';

/** Keys may be changed until they are revoked; that is for good. */
export const decideApiKey = (
  command: ApiKeyCommand,
  state: ApiKeyState,
  context: DecisionContext,
): Decision<ApiKeyEvent, ApiKeyRefusal> => {
  if (command.type === 'CreateApiKey') {
    if (state.status !== 'none') return refused('exists');
    const { id, name, plan, account, hash } = command;
    const metadata = { ...nextEvent({ sequence: 0, lastEventAt: context.now }, context), account };
    return accepted(
      newEvent('ApiKeyCreated', { name, plan, account, hash }, { ...metadata, subject: id }),
    );
  }
  if (state.status === 'none') return refused('unknown');
  const { key } = state;
  const metadata = () => ({
    ...nextEvent(key, context),
    subject: key.id,
    account: key.account,
  });
  switch (command.type) {
    case 'ChangeApiKey': {
      if (state.status === 'revoked') return refused('revoked');
      const active = state.status === 'active';
      const next = {
        name: command.name ?? key.name,
        plan: command.plan ?? key.plan,
        active: command.active ?? active,
      };
      const same = next.name === key.name && next.plan === key.plan && next.active === active;
      return same ? unchanged : accepted(newEvent('ApiKeyChanged', next, metadata()));
    }
    case 'RevokeApiKey':
      if (state.status === 'revoked') return unchanged;
      return accepted(newEvent('ApiKeyRevoked', {}, metadata()));
    default: {
      const unknown: never = command;
      return unknown;
    }
  }
};
