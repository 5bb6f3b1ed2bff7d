import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { takeBackup, type BackupTarget } from './backup.js';
import { openBackup } from './format.js';
import { checkBackup, restoreInto, type RestorePhase } from './restore.js';
import { addBackup, newestBackup } from '../../app/backup-folder.js';
import { publishedAddresses } from '../../app/data-dir.js';
import type { Config } from '../../config/config.js';
import type { AddCommands } from '../cli/command.js';
import { runOnDatabase, withNewInstallation } from '../cli/database.js';
import { durationOf, wholeNumber } from '../cli/arguments.js';
import { CliError, messageOf } from '../cli/errors.js';
import {
  interruptible,
  secondsSince,
  showProgress,
  untilEnded,
  type Progress,
} from '../cli/long-work.js';
import { count, counted, writeOut, type Output } from '../cli/output.js';
import { linklogCommand } from '../../platform/process/own-command.js';
import { hasCode } from '../../platform/errors.js';
import { writeNewFile } from '../../platform/files/new-file.js';

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

const notShipped = (bytes: number): string =>
  `${count(bytes)} bytes of visits are still in the spool and not in the backup: the log is unavailable, ` +
  `or their edge no longer runs; see "${linklogCommand()} projections status"`;

/** The name of stdin for `restore`, and of stdout for `backup`. */
const standardStream = '-';

const refuseTerminal = (stream: { readonly isTTY?: boolean }, redirection: string): void => {
  if (stream.isTTY) throw new CliError('USAGE', `a backup is binary: redirect it, ${redirection}`);
};

/** Part of a backup is useless, so its reader must not exit early. @throws CliError if it does */
const writeToStdout = async (part: Buffer): Promise<void> => {
  try {
    await writeOut(part);
  } catch (cause) {
    if (!hasCode(cause, 'EPIPE')) throw cause;
    const message = 'the reader of the backup exited; the backup is incomplete';
    throw new CliError('REFUSED', message, { cause });
  }
};

const backup = async (config: Config, file: string, force: boolean) => {
  const toStdout = file === standardStream;
  if (toStdout) {
    refuseTerminal(process.stdout, `"${linklogCommand()} backup - > linklog.backup"`);
    // With this listener, main.ts does not end the process after EPIPE: `writeToStdout` reports it.
    process.stdout.on('error', () => undefined);
  }
  const target: BackupTarget = toStdout
    ? (write) => write(writeToStdout)
    : (write) => writeNewFile(file, { replace: force }, write);
  const messages = {
    ...{ title: 'backup', work: 'the backup' },
    stopped: toStdout ? 'it is incomplete' : 'its file is removed',
    ...(!toStdout && { killed: `an incomplete file may remain next to ${file}` }),
  };
  return runOnDatabase(config, messages, (database) =>
    takeBackup({ ...database, spoolRoot: config.spool.root, target }),
  );
};

type Outcome = Awaited<ReturnType<typeof backup>>;

const notice = ({ unshippedBytes }: Outcome): Pick<Output, 'notice'> =>
  unshippedBytes > 0 ? { notice: notShipped(unshippedBytes) } : {};

const describe = (
  file: string,
  outcome: Outcome,
  started: number,
  more: { readonly json?: object; readonly text?: string } = {},
): Output => {
  const { records, bytes, unshippedBytes } = outcome;
  const seconds = secondsSince(started);
  return {
    json: { file, events: records, bytes, unshippedBytes, seconds, ...more.json },
    text:
      `Backed up ${counted(records, 'event')} to ${file}: ${megabytes(bytes)} ` +
      `in ${seconds.toFixed(2)} s${more.text ?? ''}. The file contains secrets`,
    ...notice(outcome),
  };
};

const backupToFile = async (config: Config, file: string, force: boolean): Promise<Output> => {
  const started = performance.now();
  const outcome = await backup(config, file, force);
  return file === standardStream ? notice(outcome) : describe(file, outcome, started);
};

/** Reads a backup as a restore does before it changes something. @throws BadBackup */
const verify = async (file: string): Promise<void> => {
  const written = await openBackup(file);
  const messages = {
    work: 'the backup',
    stopped: 'its file is removed',
    killed: `an unverified file may remain: ${file}`,
  };
  const progress = showProgress('verify the file');
  try {
    await interruptible(messages, (signal) =>
      checkBackup(written, {
        ...{ file, signal },
        progress: (_phase, done, total) => {
          progress.update(done, total);
        },
      }),
    );
  } finally {
    progress.stop();
    await written.close();
  }
};

const backupToFolder = async (config: Config, dir: string, keep: number): Promise<Output> => {
  const started = performance.now();
  const { file, deleted, outcome } = await addBackup(dir, keep, async (unverified) => {
    const written = await backup(config, unverified, false);
    await verify(unverified);
    return written;
  });
  const text = `, and verified it; ${counted(deleted.length, 'older one')} deleted`;
  return describe(file, outcome, started, { json: { deleted }, text });
};

/** After a failed backup of a schedule (ms). */
const retryAfterMs = 600_000;

/** Adds backups to a folder, until a signal. A failed one is reported and tried again. */
const repeatBackups = (dir: string, everyMs: number, run: () => Promise<void>): Promise<void> =>
  untilEnded(async (signal) => {
    for (;;) {
      const dueInMs = (await newestBackup(dir)) + everyMs - Date.now();
      if (dueInMs > 0) {
        // A clock that is set forward makes a backup due.
        await sleep(Math.min(dueInMs, retryAfterMs), undefined, { signal });
        continue;
      }
      try {
        await run();
      } catch (error) {
        if (signal.aborted || (error instanceof CliError && error.code === 'INTERRUPTED')) return;
        process.stderr.write(`linklog: ${messageOf(error)}; trying again in 10 minutes\n`);
        await sleep(retryAfterMs, undefined, { signal });
      }
    }
  });

const titles: Record<RestorePhase, string> = {
  check: 'check the file',
  log: 'restore the log',
  ledger: 'rebuild the ledger',
  projections: 'rebuild the projections',
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

/** Runs before the file is read, which may take minutes. */
const requireStopped = async (dataDir: string): Promise<void> => {
  const service = await publishedAddresses(dataDir);
  if (!service) return;
  throw new CliError(
    'REFUSED',
    `the service runs on ${dataDir} (process ${service.pid}): restore requires a new installation`,
  );
};

/** Copies stdin to a file in DATA_DIR for the time of `work`, because a restore reads its file twice. */
const withCopyOfStdin = async <Result>(
  dataDir: string,
  work: (file: string) => Promise<Result>,
): Promise<Result> => {
  refuseTerminal(process.stdin, `"${linklogCommand()} restore - < linklog.backup"`);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const copy = path.join(dataDir, `restore-${randomUUID()}.backup`);
  try {
    await writeNewFile(copy, { replace: false }, async (append) => {
      for await (const chunk of process.stdin) await append(chunk as Buffer);
    });
    return await work(copy);
  } finally {
    await rm(copy, { force: true });
  }
};

const restore = async (config: Config, file: string): Promise<Output> => {
  const stopped = 'if the installation is incomplete, its next start fails';
  const started = performance.now();
  await requireStopped(config.dataDir);
  const backup = await openBackup(file);
  const phases = showPhases();
  try {
    await interruptible({ work: 'the restore', stopped }, async (signal) => {
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

const defaultKeep = 14;

/** @throws CliError */
const backupCount = (word: string): number => {
  const number = wholeNumber('number of backups')(word);
  if (number >= 1) return number;
  throw new CliError('USAGE', '--keep must be at least 1');
};

/** @throws CliError */
const backupInterval = (word: string): number => {
  const seconds = durationOf(word);
  if (seconds >= 60) return seconds;
  throw new CliError('USAGE', '--every must be at least 1m');
};

interface BackupFlags {
  readonly force?: boolean;
  readonly keep?: number;
  /** Seconds. */
  readonly every?: number;
}

export const addBackupCommands: AddCommands = (program, { readConfig, print }) => {
  program
    .command('backup')
    .description('write the whole log to a file while the service runs')
    .argument(
      '<file>',
      'target file, which only its owner may read, because it contains secrets; - for stdout; with --keep or --every, a folder',
    )
    .option('--force', 'replace an existing file')
    .option(
      '--keep <count>',
      `verify the backup, and keep the newest in the folder (${defaultKeep})`,
      backupCount,
    )
    .option(
      '--every <time>',
      'add a backup to the folder in this interval, such as 24h',
      backupInterval,
    )
    .notes(
      `
The backup contains everything that the service acknowledged before: links, visits, counts, keys (which
remain valid), switches, blocks. Run it with the DATA_DIR of the service, which contains the spool. Not
included: the admin token, idempotency records, and the current windows of the per-minute limits.

With --keep or --every, <file> is a folder. A backup gets its name, linklog-2026-05-20T03-00-00Z.backup,
when it was read back and is complete.

Examples:
  $ linklog backup linklog-$(date +%F).backup
  $ linklog backup /mnt/backups/linklog.backup --force --json
  $ linklog backup --every 24h --keep 14 /mnt/backups
  $ docker exec linklog linklog backup - > linklog.backup`,
    )
    .action(async (file: string, { force = false, keep, every }: BackupFlags) => {
      if (keep === undefined && every === undefined) {
        print(await backupToFile(readConfig(), file, force));
        return;
      }
      if (force || file === standardStream) {
        throw new CliError('USAGE', '--keep and --every need a folder, and never replace a file');
      }
      const run = async (): Promise<void> => {
        print(await backupToFolder(readConfig(), file, keep ?? defaultKeep));
      };
      await (every === undefined ? run() : repeatBackups(file, every * 1_000, run));
    });

  program
    .command('restore')
    .description('restore a backup of this or an earlier version into a new installation')
    .argument('<file>', 'backup file; - for stdin')
    .notes(
      `
The whole file is checked first: a damaged file, or one of a later version, changes nothing. Then the log
is restored, and everything else is rebuilt from it. The installation (DATA_DIR, or the database of
DATABASE_URL) must be new: no service was ever started on it. After an interrupted restore, it does not
start: empty it and restore again.

Examples:
  $ DATA_DIR=/var/lib/linklog linklog restore linklog-2026-05-20.backup
  $ DATABASE_URL=postgres://linklog@db/linklog linklog restore linklog.backup
  $ docker run --rm -i -v linklog:/data linklog linklog restore - < linklog.backup`,
    )
    .action(async (file: string) => {
      const config = readConfig();
      const run = (name: string): Promise<Output> => restore(config, name);
      print(await (file === standardStream ? withCopyOfStdin(config.dataDir, run) : run(file)));
    });
};
