import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import type { Logger } from '../logging.js';
import type { Gauges, Sample } from './figure.js';

/** Measures the file systems of directories, by purpose. */
export const measureDisks = (
  metrics: Gauges,
  dirs: Readonly<Record<string, string>>,
  logger: Logger,
): void => {
  const gauge = (name: string, help: string, bytesOf: (disk: StatsFs) => number): void => {
    const sample = async ([dir, path]: [string, string]): Promise<readonly Sample[]> => {
      try {
        return [[{ dir }, bytesOf(await statfs(path))]];
      } catch (err) {
        // The other metrics must be readable without this directory.
        logger.debug({ err, dir }, 'the disk of a directory could not be measured');
        return [];
      }
    };
    metrics.gauge({
      name,
      help,
      labels: ['dir'],
      read: async () => (await Promise.all(Object.entries(dirs).map(sample))).flat(),
    });
  };
  gauge(
    'linklog_disk_free_bytes',
    'Free bytes of the disk of DATA_DIR or SPOOL_DIR, for users other than root',
    ({ bavail, bsize }) => bavail * bsize,
  );
  gauge(
    'linklog_disk_size_bytes',
    'Size of the disk of DATA_DIR or SPOOL_DIR',
    ({ blocks, bsize }) => blocks * bsize,
  );
};
