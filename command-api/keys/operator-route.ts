import { keyIdPattern } from '../../schemas/http/keys.js';
import { createApiKeyHandler, type OperatorCommand } from './handler.js';
import type { Actor } from '../../schemas/decision.js';
import { messages } from '../../schemas/http/errors.js';
import { failure, json, pageOf, type Reply } from '../http/reply.js';
import type { AdminHandlers } from '../http/operator-requests.js';
import { keyWithUsageOf, operatorsKeyOf } from './view.js';

export const keyHandlers = (({ pool, outbox, plans, respond }) => {
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

  return {
    async createKey({ body, state: { actor } }) {
      const { token, state, outboxPosition } = await keys.issue(body, actor);
      const { plan } = body;
      return respond(outboxPosition, 201, { ...operatorsKeyOf({ state, plan }), key: token });
    },

    async listKeys({ query: { limit, after } }) {
      const found = await keys.list(limit + 1, after);
      const { page, next } = pageOf(found, limit, (last) => last.state.key.id);
      return json(200, { keys: page.map((key) => keyWithUsageOf(key, plans)), next });
    },

    async getKey({ parameter }) {
      const id = parameter('id');
      const found = keyIdPattern.test(id) ? await keys.find(id) : null;
      return found ? json(200, keyWithUsageOf(found, plans)) : unknownKey;
    },

    changeKey: ({ body, state: { actor }, parameter }) =>
      change(parameter('id'), { type: 'ChangeApiKey', data: body }, actor),

    revokeKey: ({ state: { actor }, parameter }) =>
      change(parameter('id'), { type: 'RevokeApiKey', data: {} }, actor),
  };
}) satisfies AdminHandlers;
