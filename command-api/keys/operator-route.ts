import {
  keyIdPattern,
  type KeyResponse,
  type KeyWithUsageResponse,
} from '../../schemas/http/keys.js';
import { createApiKeyHandler, type KeyWithUsage, type OperatorCommand } from './handler.js';
import type { Actor } from '../../schemas/decision.js';
import { rootIdOf } from '../../schemas/folds/api-key.js';
import { messages } from '../../schemas/http/errors.js';
import { failure, json, type Reply } from '../http/reply.js';
import type { AdminHandlers } from '../http/operator-requests.js';

const keyOf = ({
  state: { status, key },
  plan,
}: Pick<KeyWithUsage, 'state' | 'plan'>): KeyResponse => ({
  id: key.id,
  name: key.name,
  plan,
  account: key.account,
  scopes: [...key.scopes],
  active: status === 'active',
  rootId: rootIdOf(key),
  expiresAt: key.expiresAt?.toISOString() ?? null,
  createdAt: key.createdAt.toISOString(),
});

export const keyHandlers = (({ pool, outbox, plans, respond }) => {
  const keys = createApiKeyHandler(pool, outbox);

  const withUsage = (found: KeyWithUsage): KeyWithUsageResponse => {
    const { plan, lastUsedAt, minuteCalls, month, calls, links, qrCodes } = found;
    const limit = plans.plans[plan].requestsPerMinute;
    return {
      ...keyOf(found),
      lastUsedAt: lastUsedAt?.toISOString() ?? null,
      usage: { minute: { used: minuteCalls, limit }, month: { month, calls, links, qrCodes } },
    };
  };

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
    return respond(outcome.outboxPosition, 200, keyOf({ ...found, state: outcome.state }));
  };

  return {
    async createKey({ body, state: { actor } }) {
      const { token, state, outboxPosition } = await keys.issue(body, actor);
      const { plan } = body;
      return respond(outboxPosition, 201, { ...keyOf({ state, plan }), key: token });
    },

    async listKeys({ query: { limit, after } }) {
      const found = await keys.list(limit + 1, after);
      const page = found.slice(0, limit);
      const next = found.length > limit ? (page.at(-1)?.state.key.id ?? null) : null;
      return json(200, { keys: page.map(withUsage), next });
    },

    async getKey({ parameter }) {
      const id = parameter('id');
      const found = keyIdPattern.test(id) ? await keys.find(id) : null;
      return found ? json(200, withUsage(found)) : unknownKey;
    },

    changeKey: ({ body, state: { actor }, parameter }) =>
      change(parameter('id'), { type: 'ChangeApiKey', data: body }, actor),

    revokeKey: ({ state: { actor }, parameter }) =>
      change(parameter('id'), { type: 'RevokeApiKey', data: {} }, actor),
  };
}) satisfies AdminHandlers;
