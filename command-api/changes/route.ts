import { listChangesQuery } from '../../schemas/http/operators.js';
import { withQuery, type AdminRoutes } from '../http/operator-requests.js';
import { failure, json } from '../http/reply.js';
import { listChanges, readChangesCursor } from './changes.js';

/** `GET /admin/changes`: the changes of accounts and the platform, with their actors. */
export const changeRoutes: AdminRoutes = ({ pool }) => [
  {
    method: 'GET',
    path: '/changes',
    handler: withQuery(listChangesQuery, async ({ after, limit }) => {
      const cursor = after === undefined ? null : readChangesCursor(after);
      if (after !== undefined && cursor === null) {
        return failure(400, 'after must be the next of a page');
      }
      return json(200, await listChanges(pool, cursor, limit));
    }),
  },
];
