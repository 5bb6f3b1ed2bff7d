import {
  importedRowsQuery,
  operatorsImportQuery,
  operatorsImportsQuery,
} from '../../schemas/http/imports.js';
import { withQuery, type AdminRoutes } from '../http/operator-requests.js';
import { actorIn } from '../http/request-actor.js';
import { parseQuery } from '../http/requests.js';
import { createImports } from './route.js';

/** `/admin/imports`: imports for all accounts, without quotas and without a limit of the size. */
export const importRoutes: AdminRoutes = (deps) => {
  const imports = createImports(deps);
  return [
    {
      method: 'POST',
      path: '/imports',
      handler: (ctx, state) => {
        const parsed = parseQuery(operatorsImportQuery, ctx);
        if (parsed.type === 'refused') return parsed.reply;
        const { account, ...query } = parsed.value;
        return imports.upload(ctx, state, {
          ...{ account, keyId: null, ...actorIn(state, state.actor.actor) },
          ...{ query, maxBytes: Infinity },
        });
      },
    },
    {
      method: 'GET',
      path: '/imports',
      handler: withQuery(operatorsImportsQuery, ({ account = null }) => imports.list(account)),
    },
    {
      method: 'GET',
      path: '/imports/:id',
      handler: (_ctx, _state, parameter) => imports.show(parameter('id'), null),
    },
    {
      method: 'DELETE',
      path: '/imports/:id',
      handler: (_ctx, _state, parameter) => imports.stop(parameter('id'), null),
    },
    {
      method: 'GET',
      path: '/imports/:id/rows',
      handler: withQuery(importedRowsQuery, (query, parameter, ctx) =>
        imports.rows(ctx, parameter('id'), null, query),
      ),
    },
  ];
};
