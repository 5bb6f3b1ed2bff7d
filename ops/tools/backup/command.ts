import { takeBackup } from './backup.js';
import { openBackup } from './format.js';
import { checkBackup, restoreInto, type RestorePhase } from './restore.js';
import { publishedAddresses } from '../../app/data-dir.js';
import type { Config } from '../../config/config.js';
import type { Command, CommandContext } from '../cli/command.js';
import { runOnDatabase, withNewInstallation } from '../cli/database.js';
import { CliError } from '../cli/errors.js';
import { interruptible, secondsSince, showProgress, type Progress } from '../cli/long-work.js';
import { count, counted, type Answer } from '../cli/output.js';

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

const notShipped = (bytes: number): string =>
  `${count(bytes)} bytes of visits still wait in the spool and are not in the backup: ` +
  'the log does not take them, or the edge that kept them is gone; see "linklog projections status"';

const backup = async (config: Config, file: string, force: boolean): Promise<Answer> => {
  const words = {
    title: 'backup',
    stopped: 'the backup was stopped, and no file is left of it',
    ended: `the backup was ended at once; a part of it may lie beside ${file}`,
  };
  const started = performance.now();
  const outcome = await runOnDatabase(config, words, (database) =>
    takeBackup({ ...database, spoolRoot: config.spool.root, file, replace: force }),
  );
  const { records, bytes, unshippedBytes } = outcome;
  const seconds = secondsSince(started);
  return {
    json: { file, events: records, bytes, unshippedBytes, seconds },
    text:
      `Backed up ${counted(records, 'event')} to ${file}: ${megabytes(bytes)} ` +
      `in ${seconds.toFixed(2)} s. It holds secrets`,
    ...(unshippedBytes > 0 && { notice: notShipped(unshippedBytes) }),
  };
};

const titles: Record<RestorePhase, string> = {
  check: 'check the file',
  log: 'fill the log',
  ledger: 'fold the ledger',
  projections: 'fold the projections',
};

const showPhases = () => {
  let current: { readonly phase: RestorePhase; readonly progress: Progress } | undefined;
  return {
    update: (phase: RestorePhase, done: number, total: number): void => {
      if (current?.phase !== phase) {
        current?.progress.stop();
        current = { phase, progress: showProgress(titles[phase]) };
      }
      current.progress.update(done, total);
    },
    stop(): void {
      current?.progress.stop();
    },
  };
};

/** Checked before the file is read, which may take long. */
const requireStopped = async (dataDir: string): Promise<void> => {
  const service = await publishedAddresses(dataDir);
  if (!service) return;
  throw new CliError(
    'REFUSED',
    `the service runs on ${dataDir} (process ${service.pid}): restore needs a new installation`,
  );
};

const restore = async (config: Config, file: string): Promise<Answer> => {
  const words = {
    stopped: 'the restore was stopped; if it had begun to write, the next start says what to do',
    ended: 'the restore was ended at once; the next start says what to do',
  };
  const started = performance.now();
  await requireStopped(config.dataDir);
  const backup = await openBackup(file);
  const phases = showPhases();
  try {
    await interruptible(words, async (signal) => {
      const options = { progress: phases.update, signal };
      await checkBackup(backup, { file, ...options });
      await withNewInstallation(config, (database) => restoreInto(database, backup, options));
    });
  } finally {
    phases.stop();
    await backup.close();
  }
  const { total: events, head } = backup;
  const seconds = secondsSince(started);
  return {
    json: { file, events, createdAt: head.createdAt, seconds },
    text: `Restored ${counted(events, 'event')} of ${head.createdAt} in ${seconds.toFixed(2)} s`,
  };
};

export const addBackupCommands = (
  program: Command,
  { readConfig, print }: CommandContext,
): void => {
  program
    .command('backup')
    .description('write the whole log to a file, while the service runs')
    .argument('<file>', 'where to; only its user may read it, for secrets are in it')
    .option('--force', 'replace the file if there is one')
    .notes(
      `
Everything that the service acknowledged before is in it: links, visits, counts, keys (they go on
working), switches, blocks. Run it with the DATA_DIR of the service, where visits are spooled. Not in
it: the admin token, answers kept for an Idempotency-Key, the open windows of per-minute limits.

Examples:
  $ linklog backup linklog-$(date +%F).backup
  $ linklog backup /mnt/backups/linklog.backup --force --json`,
    )
    .action(async (file: string, { force = false }: { force?: boolean }) => {
      print(await backup(readConfig(), file, force));
    });

  program
    .command('restore')
    .description('fill a new installation with a backup, of this version or an earlier one')
    .argument('<file>', 'what "linklog backup" wrote')
    .notes(
      `
The file is checked first, all of it: one that is damaged, or of a later version, changes nothing.
Then the log is filled, and all the rest is folded from it. The installation (DATA_DIR, or the database
of DATABASE_URL) must be new: no service was started on it, and none runs. One whose restore was broken
off does not start; empty it and restore again.

Examples:
  $ DATA_DIR=/var/lib/linklog linklog restore linklog-2026-05-20.backup
  $ DATABASE_URL=postgres://linklog@db/linklog linklog restore linklog.backup`,
    )
    .action(async (file: string) => {
      print(await restore(readConfig(), file));
    });
};
