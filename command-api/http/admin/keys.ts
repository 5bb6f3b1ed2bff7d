import { z } from 'zod';
import {
  changeKeyRequest,
  createKeyRequest,
  keyIdPattern,
  type KeyResponse,
  type KeyWithUsageResponse,
} from '../../../schemas/http/keys.js';
import type { ApiKeyCommand } from '../../domain/api-key.js';
import { createApiKeyHandler, type KeyWithUsage } from '../../ledger/api-keys.js';
import type { KnownKey } from '../../../ops/ledger/api-keys.js';
import type { Actor } from '../../../schemas/decision.js';
import { failure, json, type Reply } from '../reply.js';
import { pageLimit, withBody, withQuery, type AdminRoutes } from './requests.js';

const pageQuery = z.object({
  limit: pageLimit.default(100),
  after: z
    .string({ error: 'after must be given once' })
    .regex(keyIdPattern, { error: 'after must be the id of a key' })
    .nullable()
    .default(null),
});

const keyOf = ({ status, key }: KnownKey): KeyResponse => ({
  id: key.id,
  name: key.name,
  plan: key.plan,
  account: key.account,
  active: status === 'active',
  createdAt: key.createdAt.toISOString(),
});

export const keyRoutes: AdminRoutes = ({ pool, outbox, plans, settle }) => {
  const keys = createApiKeyHandler(pool, outbox);

  const withUsage = ({ state, ...spent }: KeyWithUsage): KeyWithUsageResponse => {
    const { minuteCalls, ...month } = spent;
    const limit = plans.plans[state.key.plan].requestsPerMinute;
    return { ...keyOf(state), usage: { minute: { used: minuteCalls, limit }, month } };
  };

  const unknownKey = failure(404, 'API key not found');

  const change = async (id: string, command: ApiKeyCommand, actor: Actor): Promise<Reply> => {
    if (!keyIdPattern.test(id)) return unknownKey;
    const outcome = await keys.handle(id, command, actor);
    if (outcome.type === 'done') return settle(outcome.receipt, 200, keyOf(outcome.state));
    return outcome.reason === 'unknown'
      ? unknownKey
      : failure(409, 'This API key has been revoked');
  };

  return [
    {
      method: 'POST',
      path: '/keys',
      handler: withBody(createKeyRequest, async (request, { actor }) => {
        const { token, state, receipt } = await keys.issue(request, actor);
        return settle(receipt, 201, { ...keyOf(state), key: token });
      }),
    },
    {
      method: 'GET',
      path: '/keys',
      handler: withQuery(pageQuery, async ({ limit, after }) => {
        const found = await keys.list(limit + 1, after);
        const page = found.slice(0, limit);
        const next = found.length > limit ? (page.at(-1)?.state.key.id ?? null) : null;
        return json(200, { keys: page.map(withUsage), next });
      }),
    },
    {
      method: 'GET',
      path: '/keys/:id',
      handler: async (_ctx, _state, parameter) => {
        const id = parameter('id');
        const found = keyIdPattern.test(id) ? await keys.find(id) : null;
        return found ? json(200, withUsage(found)) : unknownKey;
      },
    },
    {
      method: 'PATCH',
      path: '/keys/:id',
      handler: withBody(changeKeyRequest, (changes, { actor }, parameter) =>
        change(parameter('id'), { type: 'ChangeApiKey', ...changes }, actor),
      ),
    },
    {
      method: 'DELETE',
      path: '/keys/:id',
      handler: (_ctx, { actor }, parameter) =>
        change(parameter('id'), { type: 'RevokeApiKey' }, actor),
    },
  ];
};
