import {
  accepted,
  nextEvent,
  unchanged,
  type Command,
  type Decider,
} from '../../schemas/decision.js';
import type { WebhookEvent } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import { evolveWebhook, type WebhookState } from '../../schemas/folds/webhook.js';
import { noSubject } from '../../schemas/folds/subject-state.js';

/** The subject is the webhook's ID. */
type DisableWebhook = Command<'DisableWebhook', { readonly reason: string }>;

/** Disables a webhook whose receiver fails. The commands of accounts are in command-api/webhooks. */
export const disableDecider: Decider<DisableWebhook, WebhookEvent, WebhookState> = {
  initialState: noSubject,
  evolve: evolveWebhook,
  decide({ subject, data, metadata }, state) {
    if (state.status !== 'enabled') return unchanged;
    const attributes = { ...nextEvent(state, metadata), subject, account: state.account };
    return accepted(newEvent('WebhookDisabled', data, attributes));
  },
};
