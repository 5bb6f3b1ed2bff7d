import { decideOne } from '../../ops/ledger/decide.js';
import { platformSwitches, readPlatform } from '../../ops/ledger/platform.js';
import { platformSubject, type PlatformState } from '../../schemas/folds/platform.js';
import { switchPlatformRequest, type PlatformResponse } from '../../schemas/http/operators.js';
import { platformDecider } from './command.js';
import { json } from '../http/reply.js';
import { withBody, type AdminRoutes } from '../http/operator-requests.js';

const responseOf = ({ maintenance, features }: PlatformState): PlatformResponse => ({
  maintenance,
  features,
});

export const platformRoutes: AdminRoutes = ({ respond, ...ledger }) => [
  {
    method: 'GET',
    path: '/platform',
    handler: async () => json(200, responseOf(await readPlatform(ledger.pool))),
  },
  {
    method: 'PATCH',
    path: '/platform',
    handler: withBody(switchPlatformRequest, async (data, { actor }) => {
      const { state, outboxPosition } = await decideOne(ledger, platformSwitches, platformDecider, {
        type: 'SwitchPlatform',
        subject: platformSubject,
        data,
        metadata: actor,
      });
      return respond(outboxPosition, 200, responseOf(state));
    }),
  },
];
