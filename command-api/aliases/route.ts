import { aliasOverrides } from '../../ops/ledger/alias-overrides.js';
import { decideOne } from '../../ops/ledger/decide.js';
import type { Actor } from '../../schemas/decision.js';
import { aliasPattern } from '../../schemas/link-subject.js';
import type { AdminHandlers } from '../http/operator-requests.js';
import { failure, json } from '../http/reply.js';
import { aliasOverrideDecider } from './command.js';
import { listAliasOverrides } from './overrides.js';

const invalidAlias = 'Alias must have 3 to 50 letters, numbers, hyphens and underscores';

export const overrideHandlers = (({ respond, ...ledger }) => {
  const set = (alias: string, account: string | null, metadata: Actor) =>
    decideOne(ledger, aliasOverrides, aliasOverrideDecider, {
      type: 'SetAliasOverride',
      subject: alias,
      data: { account },
      metadata,
    });
  return {
    listOverrides: async ({ query: { after, limit } }) =>
      json(200, await listAliasOverrides(ledger.pool, after, limit)),

    async allowAlias({ body: { account }, state, parameter }) {
      const alias = parameter('alias').toLowerCase();
      if (!aliasPattern.test(alias)) return failure(400, invalidAlias);
      const { outboxPosition } = await set(alias, account, state.actor);
      return respond(outboxPosition, 200, { alias, account });
    },

    async disallowAlias({ state, parameter }) {
      const alias = parameter('alias').toLowerCase();
      if (aliasPattern.test(alias)) {
        const { decision, outboxPosition } = await set(alias, null, state.actor);
        if (decision.type === 'accepted')
          return respond(outboxPosition, 200, { alias, account: null });
      }
      return failure(404, 'Override not found');
    },
  };
}) satisfies AdminHandlers;
