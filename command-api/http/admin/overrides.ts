import type Router from '@koa/router';
import { nothingRecorded } from '../../../ops/platform/outbox/port.js';
import { aliasOverrideRequest } from '../../../schemas/http/operators.js';
import { shortCodePattern } from '../../../schemas/http/shorten.js';
import type { AliasOverrideHandler } from '../../ledger/alias-overrides.js';
import { failure } from '../reply.js';
import { route } from '../routing.js';
import type { AdminState } from './app.js';
import { withBody } from './requests.js';
import type { Settle } from './settle.js';

const path = '/reserved-aliases/:alias/override';
const noAlias = 'Alias must have 3 to 50 letters, numbers, hyphens and underscores';

/** PUT and DELETE /admin/reserved-aliases/:alias/override */
export const addOverrideRoutes = (
  router: Router,
  handler: AliasOverrideHandler,
  settle: Settle,
): void => {
  router.put(
    path,
    route<AdminState>((ctx, { actor }, parameter) =>
      withBody(ctx, aliasOverrideRequest, async ({ account }) => {
        const alias = parameter('alias').toLowerCase();
        if (!shortCodePattern.test(alias)) return failure(400, noAlias);
        const receipt = await handler.set({ alias, account }, actor);
        return settle(receipt ?? nothingRecorded, 200, { alias, account });
      }),
    ),
  );
  router.delete(
    path,
    route<AdminState>(async (_ctx, { actor }, parameter) => {
      const alias = parameter('alias').toLowerCase();
      const receipt = shortCodePattern.test(alias)
        ? await handler.set({ alias, account: null }, actor)
        : null;
      return receipt
        ? settle(receipt, 200, { alias, account: null })
        : failure(404, 'Override not found');
    }),
  );
};
