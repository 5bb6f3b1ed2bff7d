import { nanoid } from 'nanoid';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import { createLockedDecisions } from '../../ops/ledger/decide.js';
import { webhooks } from '../../ops/ledger/webhooks.js';
import type { Client, Pool } from '../../ops/platform/postgres/pool.js';
import { newSecret } from '../../ops/webhooks/signature.js';
import { deleteDeliveries, forgetFailures, insertCursor } from '../../ops/webhooks/store.js';
import type { Actor } from '../../schemas/decision.js';
import { exists, type WebhookState, type WebhookTerms } from '../../schemas/folds/webhook.js';
import {
  maxWebhooks,
  webhookDecider,
  type WebhookChanges,
  type WebhookCommand,
} from './command.js';

const countWebhooks = async (tx: Client, account: string): Promise<number> => {
  const { rows } = await tx.query<{ count: number }>(
    `SELECT count(*) AS count FROM ledger.webhooks WHERE account = $1 AND status <> 'deleted'`,
    [account],
  );
  return rows[0]?.count ?? 0;
};

/** Decides commands on webhooks, one at a time. */
export const createWebhookHandler = (pool: Pool, outbox: Outbox) => {
  const decisions = createLockedDecisions({ pool, outbox }, webhooks, webhookDecider);

  const decide = (
    subject: string,
    metadata: Actor,
    commandOf: (tx: Client, state: WebhookState) => Promise<Pick<WebhookCommand, 'type' | 'data'>>,
  ) => decisions.submit({ subject, metadata, commandOf });

  return {
    /** @param cursor an end of the log before the webhook's own WebhookCreated event */
    create: (account: string, terms: WebhookTerms, cursor: string, actor: Actor) => {
      const id = `wh_${nanoid()}`;
      return decide(id, actor, async (tx) => {
        const count = await countWebhooks(tx, account);
        if (count < maxWebhooks) await insertCursor(tx, id, cursor);
        const data = { account, terms, count, secret: newSecret() };
        return { type: 'CreateWebhook', data };
      });
    },

    change: (id: string, account: string, changes: WebhookChanges, actor: Actor) =>
      decide(id, actor, async (tx, state) => {
        const enables = exists(state) && state.account === account && changes.status === 'enabled';
        if (enables) await forgetFailures(tx, id);
        return { type: 'ChangeWebhook', data: { account, changes } };
      }),

    rotate: (id: string, account: string, overlapSeconds: number, actor: Actor) =>
      decide(id, actor, () => {
        const data = { account, overlapSeconds, secret: newSecret() };
        return Promise.resolve({ type: 'RotateWebhookSecret', data });
      }),

    delete: (id: string, account: string, actor: Actor) =>
      decide(id, actor, async (tx, state) => {
        if (exists(state) && state.account === account) await deleteDeliveries(tx, id);
        return { type: 'DeleteWebhook', data: { account } };
      }),
  };
};

export type DecidedWebhook = Awaited<ReturnType<ReturnType<typeof createWebhookHandler>['create']>>;
