import {
  accepted,
  nextEvent,
  refused,
  unchanged,
  type Command,
  type Decider,
} from '../../schemas/decision.js';
import type { WebhookEvent } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import {
  evolveWebhook,
  exists,
  type WebhookSecret,
  type WebhookState,
  type WebhookTerms,
} from '../../schemas/folds/webhook.js';
import { noSubject } from '../../schemas/folds/subject-state.js';

export const maxWebhooks = 10;

/** Secrets that sign at the same time. */
const maxSecrets = 5;

/** An absent value stays. */
export type WebhookChanges = Readonly<Partial<WebhookTerms>> & {
  readonly status?: 'enabled' | 'paused';
};

/** The subject is the webhook's ID. */
export type WebhookCommand =
  /** `count`: webhooks of the account. */
  | Command<
      'CreateWebhook',
      {
        readonly account: string;
        readonly terms: WebhookTerms;
        readonly secret: string;
        readonly count: number;
      }
    >
  | Command<'ChangeWebhook', { readonly account: string; readonly changes: WebhookChanges }>
  /** The earlier secrets sign for `overlapSeconds` more, at most. */
  | Command<
      'RotateWebhookSecret',
      { readonly account: string; readonly secret: string; readonly overlapSeconds: number }
    >
  | Command<'DeleteWebhook', { readonly account: string }>;

export interface WebhookRefusal {
  readonly type: 'notFound' | 'webhooksExhausted';
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export const webhookDecider: Decider<WebhookCommand, WebhookEvent, WebhookState, WebhookRefusal> = {
  initialState: noSubject,
  evolve: evolveWebhook,
  decide({ type, subject, data, metadata }, state) {
    const { account } = data;
    const attributes = { ...nextEvent(state, metadata), subject, account };
    if (type === 'CreateWebhook') {
      if (data.count >= maxWebhooks) return refused({ type: 'webhooksExhausted' });
      const { terms, secret } = data;
      return accepted(newEvent('WebhookCreated', { ...terms, secret }, attributes));
    }
    if (!exists(state) || state.account !== account) return refused({ type: 'notFound' });
    const { url, types, domain, description, status, secrets } = state;
    const current = { url, types, domain, description, status, secrets };
    const changed = (changes: Partial<typeof current>) => {
      const next = { ...current, ...changes };
      if (isSame(next, current)) return unchanged;
      return accepted(newEvent('WebhookChanged', next, attributes));
    };
    switch (type) {
      case 'ChangeWebhook':
        return changed(data.changes);
      case 'RotateWebhookSecret': {
        const { secret, overlapSeconds } = data;
        const lastEnd = new Date(attributes.time.getTime() + overlapSeconds * 1_000).toISOString();
        const earlier = secrets.flatMap((known): WebhookSecret[] => {
          const endsAt = known.endsAt !== null && known.endsAt < lastEnd ? known.endsAt : lastEnd;
          return endsAt > attributes.time.toISOString() ? [{ secret: known.secret, endsAt }] : [];
        });
        return changed({ secrets: [{ secret, endsAt: null }, ...earlier].slice(0, maxSecrets) });
      }
      case 'DeleteWebhook':
        return accepted(newEvent('WebhookDeleted', {}, attributes));
      default: {
        const unknown: never = type;
        return unknown;
      }
    }
  },
};
