import type { AdminHandlers } from '../../http/operator-requests.js';
import { createExporter } from './route.js';

/** The links of an account. */
export const exportHandlers = ((deps) => {
  const respond = createExporter(deps);
  return {
    exportLinks: ({ ctx, query: { account, ...query } }) =>
      respond(ctx, query, account, new Date()),
  };
}) satisfies AdminHandlers;
