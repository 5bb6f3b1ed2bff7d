import type { EventNamed, WebhookEvent } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';
import type { None, Remains } from './subject-state.js';

export type WebhookTerms = Omit<EventNamed<'WebhookCreated'>['data'], 'secret'>;

type Changed = EventNamed<'WebhookChanged'>['data'];

export type WebhookSecret = Changed['secrets'][number];

export interface Webhook extends Readonly<Changed>, Remains<Changed['status']> {
  /** `null` unless it is disabled. */
  readonly disabledReason: string | null;
  readonly createdAt: string;
}

export type DeletedWebhook = Remains<'deleted'>;
export type WebhookState = None | Webhook | DeletedWebhook;

export const exists = (state: WebhookState): state is Webhook =>
  state.status !== 'none' && state.status !== 'deleted';

export const evolveWebhook = (state: WebhookState, event: WebhookEvent): WebhookState => {
  const next = { sequence: event.sequence, lastEventAt: new Date(event.time) };
  if (event.type === 'linklog.WebhookCreated.v1') {
    const { secret, ...terms } = event.data;
    return {
      ...{ ...terms, ...next, status: 'enabled', disabledReason: null },
      ...{ account: event.account ?? '', secrets: [{ secret, endsAt: null }] },
      createdAt: event.time,
    };
  }
  if (!exists(state)) return state;
  switch (event.type) {
    case 'linklog.WebhookChanged.v1': {
      const disabledReason = event.data.status === 'disabled' ? state.disabledReason : null;
      return { ...state, ...event.data, ...next, disabledReason };
    }
    case 'linklog.WebhookDisabled.v1':
      return { ...state, ...next, status: 'disabled', disabledReason: event.data.reason };
    case 'linklog.WebhookDeleted.v1':
      return { ...next, status: 'deleted', account: state.account };
    default:
      return unknownEvent(event, 'webhook');
  }
};
