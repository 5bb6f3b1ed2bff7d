import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, nullOnThrow } from '../../platform/errors.js';
import type { Logger } from '../../platform/logging.js';
import { procStat } from '../../platform/process/proc.js';
import { runProgram, type Account } from './child.js';
import { ServerFailed } from './errors.js';

/** The process ended while we looked. */
const goneCodes = ['ENOENT', 'ESRCH'] as const;

/** The pids whose current directory is `dir`, compared by inode, so that no link or mount deceives. */
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
  // Root in a container without CAP_SYS_PTRACE may not see those of `account`: that account looks.
  const look = 'for p in /proc/[0-9]*; do [ "$p/cwd" -ef "$1" ] && echo "${p#/proc/}"; done';
  const { stdout } = await runProgram(account, '/bin/sh', ['-c', look, 'sh', dir]);
  return [...new Set([...found, ...stdout.split('\n').map(Number)])].filter((pid) => pid > 0);
};

/**
 * The processes of these programs that run in this folder, those of `account` too. Elsewhere than on
 * Linux none is found.
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

const all: EndStep['to'] = (pids) => pids;

export const killAll: EndStep = { signal: 'SIGKILL', to: all, waitMs: 2_000 };

const terminate: readonly EndStep[] = [{ signal: 'SIGTERM', to: all, waitMs: 6_000 }, killAll];

const send = (pid: number, signal: NodeJS.Signals): void => {
  nullOnThrow(() => process.kill(pid, signal), ...goneCodes);
};

/**
 * Ends the processes that `find` finds in a folder, step by step. The caller has the folder's lock, so
 * whatever runs there was left by a process of ours that was killed.
 *
 * @throws ServerFailed when one does not even end by SIGKILL
 */
export const endOrphans = async (options: {
  /** As in a sentence: `Kafka`. */
  readonly name: string;
  readonly dir: string;
  readonly find: () => Promise<number[]>;
  readonly steps?: readonly EndStep[];
  readonly logger: Logger;
}): Promise<void> => {
  const { name, dir, find, steps = terminate, logger } = options;
  let pids = await find();
  if (pids.length === 0) return;
  logger.warn({ pids, dir }, `ending the ${name} that a killed process left running`);
  for (const { signal, to, waitMs } of steps) {
    const targets = to(pids);
    for (const pid of targets) send(pid, signal);
    // A paused process (Ctrl-Z, a paused container) would not hear anything but SIGKILL.
    for (const pid of pids) send(pid, 'SIGCONT');
    const end = performance.now() + (targets.length === 0 ? 0 : waitMs);
    // Looked for anew each time: a pid once found may by now be another's.
    while ((pids = await find()).length > 0 && performance.now() < end) await sleep(10);
    if (pids.length === 0) return;
  }
  const message = `${name} of ${dir} does not end (process ${pids.join(', ')})`;
  throw new ServerFailed(message, { retryable: true });
};
