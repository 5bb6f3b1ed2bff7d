import type { ProcessList } from '../../schemas/http/operators.js';
import type { AdminHandlers } from '../http/operator-requests.js';
import { json } from '../http/reply.js';

type Process = ProcessList['processes'][number];
type Row = Omit<Process, 'startedAt' | 'lastSeenAt'> &
  Readonly<Record<'startedAt' | 'lastSeenAt', Date>>;

export const processHandlers = (({ pool }) => ({
  async listProcesses() {
    const { rows } = await pool.query<Row>({
      name: 'processes-list',
      text: `SELECT id, version, services, host, pid, started_at AS "startedAt",
               last_seen_at AS "lastSeenAt"
             FROM public.processes WHERE last_seen_at > clock_timestamp() - interval '1 minute'
             ORDER BY host, started_at, id LIMIT 1000`,
    });
    const body: ProcessList = {
      processes: rows.map(({ startedAt, lastSeenAt, ...process }) => ({
        ...process,
        startedAt: startedAt.toISOString(),
        lastSeenAt: lastSeenAt.toISOString(),
      })),
    };
    return json(200, body);
  },
})) satisfies AdminHandlers;
