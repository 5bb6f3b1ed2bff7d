import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import type { Metrics } from '../../platform/metrics/metrics.js';

/** Called after each commit. @param startedAt when the events were passed to the outbox (`performance.now()`) */
export type OnRecorded = (events: readonly LinklogEvent[], startedAt: number) => void;

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
    appended += events.length;
  };
};
