import { readWebhooks } from '../../ops/ledger/webhooks.js';
import type { Webhook } from '../../schemas/folds/webhook.js';
import {
  operatorsWebhooksQuery,
  replayRequest,
  type OperatorsWebhookListResponse,
} from '../../schemas/http/webhooks.js';
import { withBody, withQuery, type AdminRoutes } from '../http/operator-requests.js';
import { json } from '../http/reply.js';
import { unknownWebhook } from './route.js';
import { createWebhookCalls } from './webhook-calls.js';

/** `/admin/webhooks`: the webhooks of all accounts. */
export const webhookRoutes: AdminRoutes = (deps) => {
  const { pool } = deps;
  const calls = createWebhookCalls(deps);
  const find = async (id: string): Promise<Webhook | null> =>
    (await readWebhooks(pool, null, id)).get(id) ?? null;

  return [
    {
      method: 'GET',
      path: '/webhooks',
      handler: withQuery(operatorsWebhooksQuery, async ({ account = null }) => {
        const webhooks = await readWebhooks(pool, account);
        const accounts = [...webhooks.values()].map((webhook) => webhook.account);
        const shown = await calls.shown(webhooks);
        const body: OperatorsWebhookListResponse = {
          webhooks: shown.map((webhook, index) => ({ ...webhook, account: accounts[index] ?? '' })),
        };
        return json(200, body);
      }),
    },
    {
      method: 'POST',
      path: '/webhooks/:id/test',
      handler: async (_ctx, state, parameter) => {
        const webhook = await find(parameter('id'));
        return webhook ? calls.test(parameter('id'), webhook, state) : unknownWebhook;
      },
    },
    {
      method: 'POST',
      path: '/webhooks/:id/replay',
      handler: withBody(replayRequest, async ({ after }, _state, parameter) => {
        const webhook = await find(parameter('id'));
        return webhook ? calls.replay(parameter('id'), webhook, after) : unknownWebhook;
      }),
    },
  ];
};
