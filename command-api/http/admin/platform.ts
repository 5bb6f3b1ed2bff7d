import { readPlatform } from '../../../ops/ledger/platform.js';
import type { PlatformState } from '../../../schemas/folds/platform.js';
import { switchPlatformRequest, type PlatformResponse } from '../../../schemas/http/operators.js';
import { switchPlatform } from '../../ledger/platform.js';
import { json } from '../reply.js';
import { withBody, type AdminRoutes } from './requests.js';

const responseOf = ({ maintenance, features }: PlatformState): PlatformResponse => ({
  maintenance,
  features,
});

export const platformRoutes: AdminRoutes = ({ pool, outbox, settle }) => [
  {
    method: 'GET',
    path: '/platform',
    handler: async () => json(200, responseOf(await readPlatform(pool))),
  },
  {
    method: 'PATCH',
    path: '/platform',
    handler: withBody(switchPlatformRequest, async (command, { actor }) => {
      const { state, receipt } = await switchPlatform(pool, outbox, command, actor);
      return settle(receipt, 200, responseOf(state));
    }),
  },
];
