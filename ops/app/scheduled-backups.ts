import { execFile } from 'node:child_process';
import { setPriority } from 'node:os';
import { promisify } from 'node:util';
import { advisoryLocks } from '../advisory-locks.js';
import type { Config } from '../config/config.js';
import { periodically } from '../platform/concurrency/periodic.js';
import { messageOf } from '../platform/errors.js';
import { projectFile } from '../platform/files/project-file.js';
import type { Logger } from '../platform/logging.js';
import type { Gauges } from '../platform/metrics/figure.js';
import { withAdvisoryLock } from '../platform/postgres/own-connection.js';
import type { Pool } from '../platform/postgres/pool.js';
import { newestBackup } from './backup-folder.js';

const checkEveryMs = 60_000;
/** After a failed backup (ms). */
const retryAfterMs = 600_000;
/** Of the command, below that of requests. */
const priority = 10;

const run = promisify(execFile);

/** The last line that the command wrote. */
const reasonOf = (error: unknown): string => {
  const { stderr = '' } = error as { readonly stderr?: string };
  const line = stderr.trim().split('\n').at(-1) ?? '';
  return line === '' ? messageOf(error) : line;
};

/**
 * Makes a backup in BACKUP_DIR when the newest one is older than BACKUP_EVERY. The command line writes and verifies it in a
 * process of its own, which leaves the core to requests. One process of the installation at a time makes one.
 */
export const scheduleBackups = (deps: {
  readonly settings: NonNullable<Config['backups']>;
  readonly pool: Pool;
  readonly metrics: Gauges;
  readonly logger: Logger;
}) => {
  const { settings, pool, metrics, logger } = deps;
  const { dir, everyMs, keep } = settings;
  const stopping = new AbortController();
  let failedAt = -Infinity;

  metrics.gauge({
    name: 'linklog_backup_timestamp_seconds',
    help: 'When the newest verified backup in BACKUP_DIR began, in seconds since 1970; 0: there is none',
    read: async () => [[{}, (await newestBackup(dir)) / 1_000]],
  });
  metrics.gauge({
    name: 'linklog_backup_interval_seconds',
    help: 'BACKUP_EVERY',
    read: () => everyMs / 1_000,
  });

  const isDue = async (): Promise<boolean> =>
    performance.now() - failedAt >= Math.min(retryAfterMs, everyMs) &&
    Date.now() - (await newestBackup(dir)) >= everyMs;

  const backUp = async (): Promise<void> => {
    // Another process may have made one meanwhile.
    if (!(await isDue())) return;
    const args = ['backup', '--keep', String(keep), '--json', dir];
    const main = projectFile('dist/ops/tools/cli/main.js');
    const running = run(process.execPath, [main, ...args], { signal: stopping.signal });
    if (running.child.pid !== undefined) setPriority(running.child.pid, priority);
    try {
      const { stdout } = await running;
      logger.info(JSON.parse(stdout), 'backup made');
    } catch (error) {
      if (stopping.signal.aborted) return;
      failedAt = performance.now();
      throw new Error(`the backup failed: ${reasonOf(error)}`, { cause: error });
    }
  };

  const periodic = periodically({
    ...{ name: 'back up', everyMs: checkEveryMs, logger },
    async task() {
      if (await isDue()) await withAdvisoryLock(pool, [advisoryLocks.backups], backUp);
    },
  });
  return {
    /** Stops a running backup. */
    async stop(): Promise<void> {
      stopping.abort();
      await periodic.stop();
    },
  };
};
