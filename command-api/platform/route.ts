import { decideOne } from '../../ops/ledger/decide.js';
import { platformSwitches, readPlatform } from '../../ops/ledger/platform.js';
import { platformSubject, type PlatformState } from '../../schemas/folds/platform.js';
import type { PlatformResponse } from '../../schemas/http/operators.js';
import { platformDecider } from './command.js';
import { json } from '../http/reply.js';
import type { AdminHandlers } from '../http/operator-requests.js';

const responseOf = ({ maintenance, features }: PlatformState): PlatformResponse => ({
  maintenance,
  features,
});

export const platformHandlers = (({ respond, ...ledger }) => ({
  getPlatform: async () => json(200, responseOf(await readPlatform(ledger.pool))),

  async switchPlatform({ body, state: { actor } }) {
    const { state, outboxPosition } = await decideOne(ledger, platformSwitches, platformDecider, {
      type: 'SwitchPlatform',
      subject: platformSubject,
      data: body,
      metadata: actor,
    });
    return respond(outboxPosition, 200, responseOf(state));
  },
})) satisfies AdminHandlers;
