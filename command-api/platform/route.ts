import { decideOne } from '../../ops/ledger/decide.js';
import { platformSwitches, readPlatform } from '../../ops/ledger/platform.js';
import { platformSubject, type PlatformState } from '../../schemas/folds/platform.js';
import type { PlatformResponse, ProcessList } from '../../schemas/http/operators.js';
import { platformDecider } from './command.js';
import { json } from '../http/reply.js';
import type { AdminHandlers } from '../http/operator-requests.js';

const responseOf = ({ maintenance, features }: PlatformState): PlatformResponse => ({
  maintenance,
  features,
});

type ProcessRow = Omit<ProcessList['processes'][number], 'startedAt' | 'lastSeenAt'> &
  Readonly<Record<'startedAt' | 'lastSeenAt', Date>>;

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

  examine: async ({ state }) => json(200, await state.uncounted(ledger.examine())),

  async listProcesses() {
    const { rows } = await ledger.pool.query<ProcessRow>({
      name: 'processes-list',
      text: `SELECT id, version, services, host, pid, started_at AS "startedAt",
               last_seen_at AS "lastSeenAt"
             FROM public.processes WHERE last_seen_at > clock_timestamp() - interval '1 minute'
             ORDER BY host, started_at, id LIMIT 1000`,
    });
    return json(200, {
      processes: rows.map(({ startedAt, lastSeenAt, ...process }) => ({
        ...process,
        startedAt: startedAt.toISOString(),
        lastSeenAt: lastSeenAt.toISOString(),
      })),
    } satisfies ProcessList);
  },
})) satisfies AdminHandlers;
