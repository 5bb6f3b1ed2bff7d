import { z } from 'zod';
import { changeKeyRequest, createKeyRequest, keyIdPattern } from '../../schemas/http/keys.js';
import { createApiKeyHandler, type OperatorCommand } from './handler.js';
import { pageLimit } from '../../schemas/http/paging.js';
import type { Actor } from '../../schemas/decision.js';
import { messages } from '../../schemas/http/errors.js';
import { failure, json, pageOf, type Reply } from '../http/reply.js';
import { keyWithUsageOf, operatorsKeyOf } from './view.js';
import { withBody, withQuery, type AdminRoutes } from '../http/operator-requests.js';

const pageQuery = z.object({
  limit: pageLimit.default(100),
  after: z
    .string({ error: 'after must be given once' })
    .regex(keyIdPattern, { error: 'after must be the id of a key' })
    .nullable()
    .default(null),
});

export const keyRoutes: AdminRoutes = ({ pool, outbox, plans, respond }) => {
  const keys = createApiKeyHandler(pool, outbox);

  const unknownKey = failure(404, messages.keyNotFound);

  const change = async (id: string, command: OperatorCommand, actor: Actor): Promise<Reply> => {
    if (!keyIdPattern.test(id)) return unknownKey;
    const outcome = await keys.handle(id, command, actor);
    if (outcome.type === 'refused') {
      if (outcome.refusal.type === 'unknown') return unknownKey;
      return outcome.refusal.type === 'planOfRoot'
        ? failure(409, 'This API key has the plan of its root')
        : failure(409, 'This API key has been revoked');
    }
    const found = await keys.find(id);
    if (!found) throw new Error(`find() returned no key for ${id}`);
    return respond(outcome.outboxPosition, 200, operatorsKeyOf({ ...found, state: outcome.state }));
  };

  return [
    {
      method: 'POST',
      path: '/keys',
      handler: withBody(createKeyRequest, async (request, { actor }) => {
        const { token, state, outboxPosition } = await keys.issue(request, actor);
        return respond(outboxPosition, 201, {
          ...operatorsKeyOf({ state, plan: request.plan }),
          key: token,
        });
      }),
    },
    {
      method: 'GET',
      path: '/keys',
      handler: withQuery(pageQuery, async ({ limit, after }) => {
        const found = await keys.list(limit + 1, after);
        const { page, next } = pageOf(found, limit, (last) => last.state.key.id);
        return json(200, { keys: page.map((key) => keyWithUsageOf(key, plans)), next });
      }),
    },
    {
      method: 'GET',
      path: '/keys/:id',
      handler: async (_ctx, _state, parameter) => {
        const id = parameter('id');
        const found = keyIdPattern.test(id) ? await keys.find(id) : null;
        return found ? json(200, keyWithUsageOf(found, plans)) : unknownKey;
      },
    },
    {
      method: 'PATCH',
      path: '/keys/:id',
      handler: withBody(changeKeyRequest, (changes, { actor }, parameter) =>
        change(parameter('id'), { type: 'ChangeApiKey', data: changes }, actor),
      ),
    },
    {
      method: 'DELETE',
      path: '/keys/:id',
      handler: (_ctx, { actor }, parameter) =>
        change(parameter('id'), { type: 'RevokeApiKey', data: {} }, actor),
    },
  ];
};
