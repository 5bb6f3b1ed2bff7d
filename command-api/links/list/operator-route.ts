import type { AdminHandlers } from '../../http/operator-requests.js';
import { withAccount } from '../link-details.js';
import { respondWithList } from './page.js';

/** The links of all accounts. */
export const listHandlers = ((deps) => ({
  listLinks: ({ query: { account = null, ...query } }) =>
    respondWithList(deps, { ...query, account }, new Date(), withAccount),
})) satisfies AdminHandlers;
