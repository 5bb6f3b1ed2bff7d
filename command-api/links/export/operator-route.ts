import { operatorsExportQuery } from '../../../schemas/http/export.js';
import { withQuery, type AdminRoutes } from '../../http/operator-requests.js';
import { createExporter } from './route.js';

/** `GET /admin/export`: the links of an account. */
export const exportRoutes: AdminRoutes = (deps) => {
  const respond = createExporter(deps);
  return [
    {
      method: 'GET',
      path: '/export',
      handler: withQuery(operatorsExportQuery, ({ account, ...query }, _parameter, ctx) =>
        respond(ctx, query, account, new Date()),
      ),
    },
  ];
};
