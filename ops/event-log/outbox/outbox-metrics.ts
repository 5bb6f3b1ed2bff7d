import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import type { Logger } from '../../platform/logging.js';
import type { Gauges } from '../../platform/metrics/figure.js';
import type { Metrics } from '../../platform/metrics/metrics.js';
import type { Pool } from '../../platform/postgres/pool.js';
import { measureQuery } from '../../platform/postgres/query-metrics.js';

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

/** Measures the events that the relay has not sent to the log yet. */
export const measureRelay = (
  metrics: Gauges,
  deps: {
    readonly pool: Pool;
    /** Whether the relay runs in this process. */
    readonly isActive: () => boolean;
    readonly logger: Logger;
  },
): void => {
  const { pool, isActive, logger } = deps;
  measureQuery(metrics, {
    ...{ pool, logger },
    text: `SELECT coalesce(sum(p.next_offset - r.next_offset), 0)::float8 AS events,
                  coalesce(greatest(max(extract(epoch FROM clock_timestamp() - e.recorded_at)), 0), 0)::float8 AS seconds
           FROM log.partitions p JOIN log.relayed r ON r.partition_id = p.id
           CROSS JOIN LATERAL (
             SELECT recorded_at FROM log.records
             WHERE partition_id = p.id AND first_offset >= r.next_offset
             ORDER BY first_offset LIMIT 1
           ) e
           WHERE r.next_offset < p.next_offset`,
    gauges: {
      events: {
        name: 'linklog_outbox_unsent_events',
        help: 'With Kafka: events of the outbox that are not in the log yet',
      },
      seconds: {
        name: 'linklog_outbox_unsent_seconds',
        help: 'With Kafka: age of the oldest event that is not in the log yet',
      },
    },
  });
  metrics.gauge({
    name: 'linklog_relay_active',
    help: 'With Kafka: 1 if this process runs the relay, which one process at a time does',
    read: () => (isActive() ? 1 : 0),
  });
};
