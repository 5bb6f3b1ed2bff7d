import { listAllLinksQuery } from '../../../schemas/http/operators.js';
import { withQuery, type AdminRoutes } from '../../http/operator-requests.js';
import { withAccount } from '../view.js';
import { respondWithList } from './route.js';

/** `GET /admin/links`: links of all accounts. */
export const listRoutes: AdminRoutes = (deps) => [
  {
    method: 'GET',
    path: '/links',
    handler: withQuery(listAllLinksQuery, ({ account = null, ...query }) =>
      respondWithList(deps, { ...query, account }, new Date(), withAccount),
    ),
  },
];
