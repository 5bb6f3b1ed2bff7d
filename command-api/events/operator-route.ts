import type { AdminHandlers } from '../http/operator-requests.js';
import { createEventsReader } from './route.js';

/** The events of an account. */
export const eventHandlers = ((deps) => {
  const respond = createEventsReader(deps);
  return {
    getEvents: ({ ctx, query }) =>
      respond(ctx, query, query.account, { take: () => Promise.resolve('unlimited') }),
  };
}) satisfies AdminHandlers;
