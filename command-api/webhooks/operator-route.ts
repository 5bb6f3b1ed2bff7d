import { readWebhooks } from '../../ops/ledger/webhooks.js';
import type { OperatorsWebhookListResponse } from '../../schemas/http/webhooks.js';
import type { AdminHandlers } from '../http/operator-requests.js';
import { json } from '../http/reply.js';
import { createWebhookCalls } from './webhook-calls.js';

export const webhookHandlers = ((deps) => {
  const { shown, test, replay } = createWebhookCalls(deps);
  return {
    async listWebhooks({ query: { account = null } }) {
      const webhooks = await readWebhooks(deps.pool, account);
      const accounts = [...webhooks.values()].map((webhook) => webhook.account);
      const body: OperatorsWebhookListResponse = {
        webhooks: (await shown(webhooks)).map((webhook, index) => ({
          ...webhook,
          account: accounts[index] ?? '',
        })),
      };
      return json(200, body);
    },
    testWebhook: test,
    replayWebhook: replay,
  };
}) satisfies AdminHandlers;
