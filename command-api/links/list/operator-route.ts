import type { AdminHandlers } from '../../http/operator-requests.js';
import { withNamedDomain } from '../addressed-link.js';
import { withAccount } from '../view.js';
import { respondWithList } from './route.js';

export const listHandlers = ((deps) => ({
  listLinks: ({ query: { account = null, ...query }, state }) =>
    respondWithList(deps, { ...withNamedDomain(query, state), account }, new Date(), withAccount),
})) satisfies AdminHandlers;
