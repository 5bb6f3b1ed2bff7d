import { operatorsEventsQuery } from '../../schemas/http/events.js';
import { withQuery, type AdminRoutes } from '../http/operator-requests.js';
import { createEventsReader } from './route.js';

/** `GET /admin/events`: the events of an account. */
export const eventRoutes: AdminRoutes = (deps) => {
  const respond = createEventsReader(deps);
  return [
    {
      method: 'GET',
      path: '/events',
      handler: withQuery(operatorsEventsQuery, (query, _parameter, ctx) =>
        respond(ctx, query, query.account, { take: () => Promise.resolve('unlimited') }),
      ),
    },
  ];
};
