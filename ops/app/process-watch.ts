import { DependencyFault } from '../platform/errors.js';
import type { Logger } from '../platform/logging.js';
import type { Gauges } from '../platform/metrics/figure.js';
import type { Pool } from '../platform/postgres/pool.js';
import { roles, type Role } from './roles.js';

/** How long the registration of a killed process counts: three intervals. */
const registeredFor = '15 seconds';

/** The longest interval of checks without an outage of PostgreSQL or a suspension of this process (ms). */
const gapMs = 15_000;

/** How long an installation may be without projectors, as during a restart, before health reports it (ms). */
const restartMs = 30_000;

/** Links expire by the clock of the edge, and NTP keeps clocks within milliseconds. */
const maxSkewSeconds = 5;

/** The longest round trip of a comparison of clocks (ms), half of which is its error. */
const maxRoundTripMs = 1_000;

/** Counts the registered processes of an installation, and compares the clock of this machine with PostgreSQL's. */
export const createProcessWatch = (deps: {
  readonly pool: Pool;
  readonly metrics: Gauges;
  readonly logger: Logger;
  /** A monotonic clock (ms). */
  readonly now?: () => number;
}) => {
  const { pool, metrics, logger, now = () => performance.now() } = deps;
  let counts: readonly (readonly [service: Role, processes: number])[] = [];
  let skewSeconds: number | null = null;
  let checkedAt = -Infinity;
  let projectorSeenAt = 0;

  const compareClocks = (sentAt: number, receivedAt: number, databaseTime: number): void => {
    if (receivedAt - sentAt > maxRoundTripMs) return;
    const wasWrong = Math.abs(skewSeconds ?? 0) > maxSkewSeconds;
    skewSeconds = ((sentAt + receivedAt) / 2 - databaseTime) / 1_000;
    const isWrong = Math.abs(skewSeconds) > maxSkewSeconds;
    if (isWrong === wasWrong) return;
    if (isWrong) {
      const fields = { seconds: Math.round(skewSeconds) };
      logger.error(fields, "the clock of this machine differs from PostgreSQL's");
    } else logger.info("the clock of this machine agrees with PostgreSQL's again");
  };

  metrics.gauge({
    name: 'linklog_processes',
    help: 'Registered processes with the service',
    labels: ['service'],
    shared: true,
    read: () => counts.map(([service, processes]) => [{ service }, processes] as const),
  });
  metrics.gauge({
    name: 'linklog_clock_skew_seconds',
    help: "Seconds by which the clock of this machine is ahead of PostgreSQL's",
    read: () => skewSeconds ?? [],
  });

  return {
    /** Call it every few seconds. */
    async check(): Promise<void> {
      const sentAt = Date.now();
      const { rows } = await pool.query<{ services: readonly string[]; time: number }>({
        name: 'registered-processes',
        text: `SELECT 1_000 * extract(epoch FROM clock_timestamp())::float8 AS time,
                 coalesce(array_agg(services) FILTER (
                   WHERE last_seen_at > clock_timestamp() - interval '${registeredFor}'), '{}') AS services
               FROM public.processes`,
      });
      if (rows[0]) compareClocks(sentAt, Date.now(), rows[0].time);
      const running = rows.flatMap(({ services }) => services.flatMap((text) => text.split(', ')));
      counts = roles.map((role) => [role, running.filter((name) => name === role).length] as const);
      const time = now();
      if (running.includes('projectors') || time - checkedAt > gapMs) projectorSeenAt = time;
      checkedAt = time;
    },
    /** @throws DependencyFault if there was no projector at the checks of the last 30 s */
    requireProjectors: (): Promise<void> => {
      if (checkedAt - projectorSeenAt < restartMs) return Promise.resolve();
      const text = `no projector for ${restartMs / 1_000} s`;
      return Promise.reject(new DependencyFault('NO_PROJECTOR', text));
    },
  };
};
