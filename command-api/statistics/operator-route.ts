import type { AdminRoutes } from '../http/operator-requests.js';
import { respondWithLinkStats } from './route.js';

/** `GET /admin/stats/:shortCode`: the statistics of a link of any account. */
export const statsRoutes: AdminRoutes = (deps) => [
  {
    method: 'GET',
    path: '/stats/:shortCode',
    handler: (ctx, _state, parameter) =>
      respondWithLinkStats(deps, null, new Date(), ctx, parameter),
  },
];
