import { readWebhooks } from '../../ops/ledger/webhooks.js';
import type { Webhook } from '../../schemas/folds/webhook.js';
import type { OperatorsWebhookListResponse } from '../../schemas/http/webhooks.js';
import type { AdminHandlers } from '../http/operator-requests.js';
import { json } from '../http/reply.js';
import { unknownWebhook } from './route.js';
import { createWebhookCalls } from './webhook-calls.js';

export const webhookHandlers = ((deps) => {
  const { pool } = deps;
  const calls = createWebhookCalls(deps);
  const find = async (id: string): Promise<Webhook | null> =>
    (await readWebhooks(pool, null, id)).get(id) ?? null;

  return {
    async listWebhooks({ query: { account = null } }) {
      const webhooks = await readWebhooks(pool, account);
      const accounts = [...webhooks.values()].map((webhook) => webhook.account);
      const shown = await calls.shown(webhooks);
      const body: OperatorsWebhookListResponse = {
        webhooks: shown.map((webhook, index) => ({ ...webhook, account: accounts[index] ?? '' })),
      };
      return json(200, body);
    },

    async testWebhook({ state, parameter }) {
      const webhook = await find(parameter('id'));
      return webhook ? calls.test(parameter('id'), webhook, state) : unknownWebhook;
    },

    async replayWebhook({ body: { after }, parameter }) {
      const webhook = await find(parameter('id'));
      return webhook ? calls.replay(parameter('id'), webhook, after) : unknownWebhook;
    },
  };
}) satisfies AdminHandlers;
