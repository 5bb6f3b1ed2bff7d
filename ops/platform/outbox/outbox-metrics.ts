import type { Metrics } from '../metrics/metrics.js';
import { onCommit } from '../postgres/pool.js';
import type { Outbox } from './port.js';

/** The same outbox, which takes down how long its events take to be committed, and how many they are. */
export const measureOutbox = (outbox: Outbox, metrics: Metrics): Outbox => {
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
  return {
    ...outbox,
    async record(tx, events) {
      const startedAt = performance.now();
      const receipt = await outbox.record(tx, events);
      if (events.length > 0) {
        onCommit(tx, () => {
          durations.observeSince(startedAt);
          appended += events.length;
        });
      }
      return receipt;
    },
  };
};
