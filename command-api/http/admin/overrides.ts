import type Router from '@koa/router';
import { aliasOverrideRequest } from '../../../schemas/http/operators.js';
import { shortCodePattern } from '../../../schemas/http/shorten.js';
import type { AliasOverrideDesk } from '../../ledger/alias-overrides.js';
import { failure, json } from '../reply.js';
import { route } from '../routing.js';
import type { AdminState } from './app.js';
import { withBody } from './requests.js';

const path = '/reserved-aliases/:alias/override';
const noAlias = 'Alias must have 3 to 50 letters, numbers, hyphens and underscores';

/** PUT and DELETE /admin/reserved-aliases/:alias/override */
export const addOverrideRoutes = (router: Router, desk: AliasOverrideDesk): void => {
  router.put(
    path,
    route<AdminState>((ctx, { asker }, parameter) =>
      withBody(ctx, aliasOverrideRequest, async ({ account }) => {
        const alias = parameter('alias').toLowerCase();
        if (!shortCodePattern.test(alias)) return failure(400, noAlias);
        await desk.set({ alias, account }, asker);
        return json(200, { alias, account });
      }),
    ),
  );
  router.delete(
    path,
    route<AdminState>(async (_ctx, { asker }, parameter) => {
      const alias = parameter('alias').toLowerCase();
      const known =
        shortCodePattern.test(alias) && (await desk.set({ alias, account: null }, asker));
      return known ? json(200, { alias, account: null }) : failure(404, 'Override not found');
    }),
  );
};
