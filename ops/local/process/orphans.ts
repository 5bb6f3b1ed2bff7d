import { readFileSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, nullOnThrow } from '../../platform/errors.js';
import type { Logger } from '../../platform/logging.js';
import { runProgram, type Account } from './child.js';
import { ServerFailed } from './errors.js';

/** Reads a file of /proc. ESRCH: the process has ended. EACCES: /proc is mounted with hidepid. */
export const readProc = (file: string): string | null =>
  nullOnThrow(() => readFileSync(`/proc/${file}`, 'utf8'), 'ENOENT', 'ESRCH', 'EACCES', 'EPERM');

/** Returns a process's program and parent; `null` if it is not in /proc. */
export const procStat = (pid: number) => {
  const text = readProc(`${pid}/stat`);
  if (text === null) return null;
  // The second field is the program's name in parentheses, which may contain spaces and ")".
  const end = text.lastIndexOf(')');
  const [, parent] = text.slice(end + 2).split(' ');
  return { program: text.slice(text.indexOf('(') + 1, end), parent: Number(parent) };
};

export const processExists = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process belongs to another user.
    return !hasCode(error, 'ESRCH');
  }
};

/** The process has exited meanwhile. */
const goneCodes = ['ENOENT', 'ESRCH'] as const;

/** Returns the pids whose working directory is `dir`, compared by inode because of links and mounts. */
const pidsIn = async (dir: string, account: Account | null): Promise<number[]> => {
  const wanted = statSync(dir, { bigint: true, throwIfNoEntry: false });
  if (wanted === undefined) return [];
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const hidden: number[] = [];
  const found = pids.filter((pid) => {
    try {
      const cwd = statSync(`/proc/${pid}/cwd`, { bigint: true });
      return cwd.dev === wanted.dev && cwd.ino === wanted.ino;
    } catch (error) {
      if (hasCode(error, 'EACCES', 'EPERM')) hidden.push(pid);
      else if (!hasCode(error, ...goneCodes)) throw error;
      return false;
    }
  });
  if (hidden.length === 0 || account === null) return found;
  // Root in a container without CAP_SYS_PTRACE may not read the `cwd` of other accounts, so a shell of `account` does.
  const script = 'for p in /proc/[0-9]*; do [ "$p/cwd" -ef "$1" ] && echo "${p#/proc/}"; done';
  const { stdout } = await runProgram(account, '/bin/sh', ['-c', script, 'sh', dir]);
  return [...new Set([...found, ...stdout.split('\n').map(Number)])].filter((pid) => pid > 0);
};

/**
 * Returns the processes of these programs whose working directory is `dir`, also those of `account`. Works on Linux only;
 * elsewhere, the result is empty.
 */
export const processesIn = async (
  dir: string,
  programs: readonly string[],
  account: Account | null = null,
): Promise<number[]> => {
  if (process.platform !== 'linux') return [];
  const pids = await pidsIn(dir, account);
  return pids.filter((pid) => programs.includes(procStat(pid)?.program ?? ''));
};

export interface EndStep {
  readonly signal: NodeJS.Signals;
  readonly to: (pids: readonly number[]) => readonly number[];
  readonly waitMs: number;
}

const toAll: EndStep['to'] = (pids) => pids;

export const killAll: EndStep = { signal: 'SIGKILL', to: toAll, waitMs: 2_000 };

const terminate: readonly EndStep[] = [{ signal: 'SIGTERM', to: toAll, waitMs: 6_000 }, killAll];

const send = (pid: number, signal: NodeJS.Signals): void => {
  nullOnThrow(() => process.kill(pid, signal), ...goneCodes);
};

/**
 * Ends the processes that `find` returns. The caller holds the lock of the directory, so they are orphans of a killed
 * supervisor.
 *
 * @throws ServerFailed if a process survives SIGKILL
 */
export const endOrphans = async (options: {
  /** The name in messages, such as `Kafka`. */
  readonly name: string;
  readonly dir: string;
  readonly find: () => Promise<number[]>;
  readonly steps?: readonly EndStep[];
  readonly logger: Logger;
}): Promise<void> => {
  const { name, dir, find, steps = terminate, logger } = options;
  let pids = await find();
  if (pids.length === 0) return;
  logger.warn({ pids, dir }, `ending orphaned processes of ${name}`);
  for (const { signal, to, waitMs } of steps) {
    const targets = to(pids);
    for (const pid of targets) send(pid, signal);
    // A stopped process (Ctrl-Z, a paused container) would receive no signal but SIGKILL.
    for (const pid of pids) send(pid, 'SIGCONT');
    const deadline = performance.now() + (targets.length === 0 ? 0 : waitMs);
    // Queried again each time, because pids are reused.
    while ((pids = await find()).length > 0 && performance.now() < deadline) await sleep(10);
    if (pids.length === 0) return;
  }
  const message = `${name} of ${dir} does not end (process ${pids.join(', ')})`;
  throw new ServerFailed(message, { retryable: true });
};
