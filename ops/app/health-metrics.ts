import { topicNames, topics } from '../../schemas/events/topics.js';
import type { HealthCheck, HealthReport } from '../http/health.js';
import type { Metrics } from '../platform/metrics/metrics.js';

type Projection = HealthReport['projections'][number];

/** Exposes the report of GET /health/ready, and the lag of the projections in seconds. */
export const exposeHealth = (
  metrics: Metrics,
  health: HealthCheck,
  /** By projection that this process applies. Never rejects. */
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
  const projectionGauge = (
    name: string,
    help: string,
    valueOf: (projection: Projection) => number | null,
  ) => {
    metrics.gauge({
      name,
      help,
      labels,
      shared: true,
      read: async () =>
        (await health()).projections.flatMap((projection) => {
          const value = valueOf(projection);
          return value === null ? [] : [[{ projection: projection.name }, value]];
        }),
    });
  };
  projectionGauge(
    'linklog_projection_lag_events',
    'Events of the log that the projection has not applied yet',
    ({ lag }) => lag,
  );
  projectionGauge(
    'linklog_projection_dead_letters',
    'Events that could not be read or applied',
    ({ deadLetters }) => deadLetters,
  );
  projectionGauge(
    'linklog_projection_parked_events',
    'Events that wait behind a dead letter of their subject',
    ({ parked }) => parked,
  );
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
