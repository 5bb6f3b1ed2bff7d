import type { AdminHandlers } from '../http/operator-requests.js';
import { respondWithLinkStats } from './route.js';

/** The statistics of a link of any account. */
export const statsHandlers = ((deps) => ({
  getStats: ({ ctx, parameter }) => respondWithLinkStats(deps, null, new Date(), ctx, parameter),
})) satisfies AdminHandlers;
