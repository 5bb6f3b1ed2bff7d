import type { Metrics } from '../../platform/metrics/metrics.js';

/** Told of a commit: how many events it recorded, and when they came (`performance.now`). */
export type OnRecorded = (events: number, startedAt: number) => void;

/** Counts committed events, and the time from their recording to the end of their commit. */
export const measureOutbox = (metrics: Metrics): OnRecorded => {
  const durations = metrics.durations(
    'linklog_outbox_append_duration_seconds',
    'Time from handing events to the outbox to the end of their commit, by transaction',
  );
  let appended = 0;
  metrics.counter({
    name: 'linklog_outbox_appended_events_total',
    help: 'Events committed through the outbox',
    read: () => appended,
  });
  return (events, startedAt) => {
    durations.observeSince(startedAt);
    appended += events;
  };
};
