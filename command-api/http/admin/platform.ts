import type Router from '@koa/router';
import { switchPlatformRequest, type PlatformResponse } from '../../../schemas/http/operators.js';
import type { PlatformState } from '../../../schemas/folds/platform.js';
import type { PlatformHandler } from '../../ledger/platform.js';
import { json } from '../reply.js';
import { route } from '../requests.js';
import { withBody, type AdminState, type Settle } from './requests.js';

const responseOf = ({ maintenance, features }: PlatformState): PlatformResponse => ({
  maintenance,
  features,
});

/** GET and PATCH /admin/platform */
export const addPlatformRoutes = (
  router: Router,
  handler: PlatformHandler,
  settle: Settle,
): void => {
  router.get(
    '/platform',
    route(async () => json(200, responseOf(await handler.read()))),
  );
  router.patch(
    '/platform',
    route<AdminState>((ctx, { actor }) =>
      withBody(ctx, switchPlatformRequest, async (command) => {
        const { state, receipt } = await handler.switch(command, actor);
        return settle(receipt, 200, responseOf(state));
      }),
    ),
  );
};
