import { aliasOverrides } from '../../ops/ledger/alias-overrides.js';
import { decideOne } from '../../ops/ledger/decide.js';
import type { Actor } from '../../schemas/decision.js';
import { aliasOverrideRequest, listOverridesQuery } from '../../schemas/http/operators.js';
import { aliasPattern } from '../../schemas/link-subject.js';
import { withBody, withQuery, type AdminRoutes } from '../http/operator-requests.js';
import { failure, json } from '../http/reply.js';
import { aliasOverrideDecider } from './command.js';
import { listAliasOverrides } from './forbidden-aliases.js';

const invalidAlias = 'Alias must have 3 to 50 letters, numbers, hyphens and underscores';

export const overrideRoutes: AdminRoutes = ({ respond, ...ledger }) => {
  const path = '/reserved-aliases/:alias/override';
  const set = (alias: string, account: string | null, metadata: Actor) =>
    decideOne(ledger, aliasOverrides, aliasOverrideDecider, {
      type: 'SetAliasOverride',
      subject: alias,
      data: { account },
      metadata,
    });
  return [
    {
      method: 'GET',
      path: '/reserved-aliases',
      handler: withQuery(listOverridesQuery, async ({ after, limit }) =>
        json(200, await listAliasOverrides(ledger.pool, after, limit)),
      ),
    },
    {
      method: 'PUT',
      path,
      handler: withBody(aliasOverrideRequest, async ({ account }, { actor }, parameter) => {
        const alias = parameter('alias').toLowerCase();
        if (!aliasPattern.test(alias)) return failure(400, invalidAlias);
        const { outboxPosition } = await set(alias, account, actor);
        return respond(outboxPosition, 200, { alias, account });
      }),
    },
    {
      method: 'DELETE',
      path,
      handler: async (_ctx, { actor }, parameter) => {
        const alias = parameter('alias').toLowerCase();
        if (aliasPattern.test(alias)) {
          const { decision, outboxPosition } = await set(alias, null, actor);
          if (decision.type === 'accepted')
            return respond(outboxPosition, 200, { alias, account: null });
        }
        return failure(404, 'Override not found');
      },
    },
  ];
};
