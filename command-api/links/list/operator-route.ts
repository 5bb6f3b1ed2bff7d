import type { AdminHandlers } from '../../http/operator-requests.js';
import { withAccount } from '../view.js';
import { respondWithList } from './route.js';

/** The links of all accounts. */
export const listHandlers = ((deps) => ({
  listLinks: ({ query: { account = null, ...query } }) =>
    respondWithList(deps, { ...query, account }, new Date(), withAccount),
})) satisfies AdminHandlers;
