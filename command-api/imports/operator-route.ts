import type { AdminHandlers } from '../http/operator-requests.js';
import { actorIn } from '../http/request-actor.js';
import { createImports } from './route.js';

/** `/admin/imports`: imports for all accounts, without quotas and without a limit of the size. */
export const importHandlers = ((deps) => {
  const imports = createImports(deps);
  return {
    startImport: ({ ctx, state, query: { account, ...query } }) =>
      imports.upload(ctx, state, {
        ...{ account, keyId: null, ...actorIn(state, state.actor.actor) },
        ...{ query, maxBytes: Infinity },
      }),
    listImports: ({ query: { account = null } }) => imports.list(account),
    ...{ getImport: imports.show, stopImport: imports.stop, getImportedRows: imports.rows },
  };
}) satisfies AdminHandlers;
