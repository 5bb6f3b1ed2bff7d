import type { Metrics } from '../../ops/platform/metrics/metrics.js';
import type { ReaderLag } from '../runtime/status.js';

/** Tells how far the archive is behind the log; nothing while that cannot be known. */
export const exposeArchive = (metrics: Metrics, status: () => Promise<ReaderLag>): void => {
  const gauge = (name: string, help: string, of: (lag: ReaderLag) => number): void => {
    metrics.gauge({
      name,
      help,
      read: async () => {
        try {
          return [[{}, of(await status())]];
        } catch {
          // PostgreSQL or the log is away, as `linklog_dependency_up` tells.
          return [];
        }
      },
    });
  };
  gauge(
    'linklog_archive_lag_events',
    'Events of the log that are not in the archive yet',
    ({ lag }) => lag,
  );
  gauge(
    'linklog_archive_dead_letters',
    'Events that the archive has no place for',
    ({ deadLetters }) => deadLetters,
  );
  gauge(
    'linklog_archive_parked_events',
    'Events that wait behind one that the archive has no place for',
    ({ parked }) => parked,
  );
};
