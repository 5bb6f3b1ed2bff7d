import type { ApiKeyEvent } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';
import type { PlanName } from '../plans.js';

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly plan: PlanName;
  readonly account: string;
  /** SHA-256, hexadecimal. */
  readonly hash: string;
  readonly createdAt: Date;
  readonly sequence: number;
  readonly lastEventAt: Date;
}

/** An API key's state. What is revoked stays revoked. */
export type ApiKeyState =
  | { readonly status: 'none' }
  | { readonly status: 'active' | 'inactive' | 'revoked'; readonly key: ApiKey };

export const noKey: ApiKeyState = { status: 'none' };

/** What an event makes of a key's state. The ledger's rows are changed in no other way. */
export const evolveApiKey = (state: ApiKeyState, event: ApiKeyEvent): ApiKeyState => {
  const { sequence } = event;
  const lastEventAt = new Date(event.time);
  if (event.type === 'linklog.ApiKeyCreated.v1') {
    const key = { id: event.subject, ...event.data, createdAt: lastEventAt, sequence, lastEventAt };
    return { status: 'active', key };
  }
  if (state.status === 'none') throw new Error(`${event.type} of a key that nobody made`);
  switch (event.type) {
    case 'linklog.ApiKeyChanged.v1': {
      const { name, plan, active } = event.data;
      const key = { ...state.key, name, plan, sequence, lastEventAt };
      return { status: active ? 'active' : 'inactive', key };
    }
    case 'linklog.ApiKeyRevoked.v1':
      return { status: 'revoked', key: { ...state.key, sequence, lastEventAt } };
    default:
      return unknownEvent(event, 'api-key');
  }
};
