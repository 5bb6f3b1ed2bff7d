import { DeadlinePassed, withinDeadline } from '../platform/concurrency/deadline.js';
import { DependencyFault } from '../platform/errors.js';
import type { HealthCheck, HealthReport } from '../http/health.js';
import type { Logger } from '../platform/logging.js';
import { topicNames, topics } from '../../schemas/events/topics.js';
import type { Metrics } from '../platform/metrics/metrics.js';

const timeoutMs = 1_500;
/** How long a report is cached (ms), because unauthenticated clients may request it at any rate. */
const cacheMs = 500;

type Projections = HealthReport['projections'];
type Dependency = HealthReport['dependencies'][string];

/** `value` is `null` if the check failed. */
interface CheckResult<Value> extends Dependency {
  readonly value: Value | null;
  readonly err?: unknown;
}

/** For example ECONNREFUSED or 57P03. The message is not published, because it may name an address or an account. */
const codePattern = /^[A-Z0-9_]{1,50}$/;

const codeOf = (error: unknown): string | undefined => {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && codePattern.test(code) ? code : undefined;
};

/** Never rejects, and resolves within `timeoutMs`. */
const runCheck = async <Value>(check: () => Promise<Value>): Promise<CheckResult<Value>> => {
  try {
    return { state: 'up', value: await withinDeadline(timeoutMs, check) };
  } catch (err) {
    if (err instanceof DeadlinePassed) return { state: 'down', value: null, code: 'TIMEOUT' };
    if (err instanceof DependencyFault) {
      const { code, message: detail, severity } = err;
      return { state: severity === 'down' ? 'down' : 'up', value: null, code, detail };
    }
    const code = codeOf(err);
    return { state: 'down', value: null, err, ...(code !== undefined && { code }) };
  }
};

const publicState = ({ state, code, detail }: CheckResult<unknown>): Dependency => ({
  state,
  ...(code !== undefined && { code }),
  ...(detail !== undefined && { detail }),
});

export const createHealthCheck = ({
  dependencies,
  optional = {},
  projections,
  missingEvents,
  spool,
  compaction,
  maintenance,
  isDraining,
  logger,
}: {
  /** The key is a name. A dependency whose check rejects or times out is down. */
  readonly dependencies: Readonly<Record<string, () => Promise<unknown>>>;
  /** Reported without effect on `status`, because every request can be served without them. */
  readonly optional?: Readonly<Record<string, () => Promise<unknown>>>;
  readonly projections: () => Promise<Projections>;
  /** Reported without effect on `status`, because the events in the log are served nevertheless. */
  readonly missingEvents: () => Promise<HealthReport['missingEvents']>;
  readonly spool: () => HealthReport['spool'];
  readonly compaction: () => Promise<HealthReport['compaction']>;
  readonly maintenance: () => Promise<HealthReport['maintenance']>;
  readonly isDraining: () => boolean;
  readonly logger: Logger;
}): HealthCheck => {
  const down = new Set<string>();

  const logChange = (dependency: string, result: CheckResult<unknown>): void => {
    // It logs its outages itself, because work finds them before a check does.
    if (dependency === 'archive') return;
    if (result.state === 'up') {
      if (down.delete(dependency)) logger.info({ dependency }, 'dependency is up again');
    } else if (!down.has(dependency)) {
      down.add(dependency);
      const { code, detail, err } = result;
      logger.warn({ dependency, code, detail, err }, 'dependency is down');
    }
  };

  const check = async (): Promise<HealthReport> => {
    const [projected, missing, compacted, maintained, ...others] = await Promise.all([
      runCheck(projections),
      runCheck(missingEvents),
      runCheck(compaction),
      runCheck(maintenance),
      ...Object.entries({ ...dependencies, ...optional }).map(
        async ([name, dependency]) => [name, await runCheck(dependency)] as const,
      ),
    ]);
    const results = [...others, ['projections', projected] as const];
    for (const [name, result] of results) logChange(name, result);
    const passes = results.every(([name, { state }]) => state === 'up' || name in optional);
    return {
      status: passes ? 'pass' : 'fail',
      dependencies: Object.fromEntries(
        results.map(([name, result]) => [name, publicState(result)]),
      ),
      projections: projected.value ?? [],
      missingEvents: missing.value,
      spool: spool(),
      compaction: compacted.value,
      maintenance: maintained.value,
    };
  };

  let last: { readonly at: number; readonly report: Promise<HealthReport> } | null = null;
  return async () => {
    if (!last || performance.now() - last.at > cacheMs) {
      last = { at: performance.now(), report: check() };
    }
    const report = await last.report;
    return isDraining() ? { ...report, status: 'draining' } : report;
  };
};

/** Exposes the report of GET /health/ready, and the lag of the projections in seconds. */
export const exposeHealth = (
  metrics: Metrics,
  health: HealthCheck,
  /** Returns the lag of each projection that this process applies. Never rejects. */
  secondsBehind: () => Promise<ReadonlyMap<string, number>>,
): void => {
  const labels = ['projection'];
  metrics.gauge({
    name: 'linklog_dependency_up',
    help: 'Whether the dependency responds in time',
    labels: ['dependency'],
    read: async () =>
      Object.entries((await health()).dependencies).map(([dependency, { state }]) => [
        { dependency },
        state === 'up' ? 1 : 0,
      ]),
  });
  const gauges = [
    ['lag_events', 'Events of the log that the projection has not applied yet', 'lag'],
    ['dead_letters', 'Events that could not be read or applied', 'deadLetters'],
    ['parked_events', 'Events that wait behind a dead letter of their subject', 'parked'],
  ] as const;
  for (const [end, help, field] of gauges) {
    metrics.gauge({
      ...{ name: `linklog_projection_${end}`, help, labels, shared: true },
      read: async () =>
        (await health()).projections.flatMap(({ name: projection, [field]: value }) =>
          value === null ? [] : [[{ projection }, value]],
        ),
    });
  }
  metrics.gauge({
    name: 'linklog_log_missing_events',
    help: 'Events that were acknowledged and never reached the log, by their sequences',
    labels: ['origin', 'topic'],
    shared: true,
    read: async () => {
      const { missingEvents } = await health();
      if (missingEvents === null) return [];
      // Alerts on an increase need a first sample of 0.
      const series = [
        ...topicNames.map((topic) => ({ origin: 'subject', topic })),
        { origin: 'spool', topic: topics.visits.name },
      ];
      return series.map(({ origin, topic }) => {
        const found = missingEvents.find(
          (missing) => missing.origin === origin && missing.topic === topic,
        );
        return [{ origin, topic }, found?.events ?? 0] as const;
      });
    },
  });
  metrics.gauge({
    name: 'linklog_projection_lag_seconds',
    help: 'Age of the oldest event that this process has received and not applied yet',
    labels,
    read: async () => {
      const { projections } = await health();
      // Another process may have caught up with a projection of which this process has unapplied events.
      const caughtUp = new Set(projections.filter(({ lag }) => lag === 0).map(({ name }) => name));
      return [...(await secondsBehind())].map(([projection, seconds]) => [
        { projection },
        caughtUp.has(projection) ? 0 : seconds,
      ]);
    },
  });
};
