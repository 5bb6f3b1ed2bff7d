import { readFileSync, statSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Account } from './account.js';
import { ServerFailed } from './errors.js';
import { hasCode } from '../../platform/errors.js';
import type { Layout } from './layout.js';
import { readPostmasterPid } from './postmaster-pid.js';
import { run } from './run.js';

/** ESRCH and ENOENT: it ended while we looked. */
const gone = (error: unknown): boolean => hasCode(error, 'ENOENT', 'ESRCH');

/** A process's program and parent, readable for everybody; null when it has ended. */
export const programOf = (pid: number): { name: string; parent: number } | null => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const end = text.lastIndexOf(')');
    const parent = Number(text.slice(end + 2).split(' ')[1]);
    return { name: text.slice(text.indexOf('(') + 1, end), parent };
  } catch (error) {
    if (gone(error)) return null;
    throw error;
  }
};

const isOurs = (pid: number): boolean =>
  ['postgres', 'initdb'].includes(programOf(pid)?.name ?? '');

/**
 * The pids whose current directory is `dir`, compared by inode, so that no link or mount deceives.
 * Whose directory we may not see is somebody else's, save that root in a container without
 * CAP_SYS_PTRACE may not see those of PostgreSQL's account: then that account looks.
 */
export const pidsIn = async (dir: string, account: Account | null): Promise<number[]> => {
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
      else if (!gone(error)) throw error;
      return false;
    }
  });
  if (hidden.length === 0 || account === null) return found;
  const look = 'for p in /proc/[0-9]*; do [ "$p/cwd" -ef "$1" ] && echo "${p#/proc/}"; done';
  const { stdout } = await run(account, '/bin/sh', ['-c', look, 'sh', dir]);
  return [...new Set([...found, ...stdout.split('\n').map(Number)])].filter((pid) => pid > 0);
};

/** Without /proc: the postmaster alone, by its file, when `ps` says that it is one of this directory. */
const postmasterByPs = async (layout: Layout): Promise<number[]> => {
  const recorded = await readPostmasterPid(layout);
  if (recorded === null || recorded.pid === 0) return [];
  const { stdout } = await run(null, 'ps', ['-ww', '-o', 'command=', '-p', String(recorded.pid)]);
  const isOurs = stdout.includes('postgres') && stdout.includes(`-D ${layout.cluster}`);
  return isOurs ? [recorded.pid] : [];
};

/** Every PostgreSQL process of the cluster that lives; elsewhere than on Linux its postmaster alone. */
export const postgresPids = async (layout: Layout, account: Account | null): Promise<number[]> =>
  process.platform === 'linux'
    ? (await pidsIn(layout.cluster, account)).filter(isOurs)
    : postmasterByPs(layout);

const send = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!gone(error)) throw error;
  }
};

/** Those whose parent is not among them: the postmaster; or, when that is dead, all its children. */
const heads = (pids: readonly number[]): number[] =>
  pids.filter((pid) => !pids.includes(programOf(pid)?.parent ?? 0));

/** A child's command line has been overwritten with what it does: `postgres: checkpointer`. */
const isPostmaster = (pid: number): boolean => {
  try {
    return !readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('postgres:');
  } catch (error) {
    // Without /proc only postmasters are found at all; with it, this one has just ended.
    if (gone(error)) return true;
    throw error;
  }
};

export interface Step {
  readonly signal: NodeJS.Signals;
  readonly to: (pids: readonly number[]) => readonly number[];
  readonly waitMs: number;
}

const steps: readonly Step[] = [
  // A postmaster's "fast shutdown"; to a child without postmaster it only means to cancel its query.
  { signal: 'SIGINT', to: (pids) => heads(pids).filter(isPostmaster), waitMs: 5_000 },
  { signal: 'SIGQUIT', to: heads, waitMs: 2_000 },
  { signal: 'SIGKILL', to: (pids) => pids, waitMs: 2_000 },
];

/** Signals what is found, step by step, until nothing is found any more. */
export const stopAll = async (
  find: () => Promise<number[]>,
  plan: readonly Step[],
): Promise<{ survivors: number[] }> => {
  let pids = await find();
  for (const { signal, to, waitMs } of plan) {
    const targets = to(pids);
    for (const pid of targets) send(pid, signal);
    // One that is stopped (Ctrl-Z, a paused container) would not hear anything but SIGKILL.
    for (const pid of pids) send(pid, 'SIGCONT');
    const end = performance.now() + (targets.length === 0 ? 0 : waitMs);
    // Looked for anew each time: a pid once found may by now be another's.
    while ((pids = await find()).length > 0 && performance.now() < end) await sleep(10);
    if (pids.length === 0) break;
  }
  return { survivors: pids };
};

/**
 * Ends every PostgreSQL process that lives in this data directory. The caller has the directory's lock,
 * so whatever lives there was left by a process of ours that was killed.
 *
 * @throws ServerFailed when one does not even end by SIGKILL (9 s at most)
 */
export const stopOrphans = async (
  layout: Layout,
  account: Account | null,
  logger: Logger,
): Promise<void> => {
  const find = (): Promise<number[]> => postgresPids(layout, account);
  const orphans = await find();
  if (orphans.length > 0) {
    logger.warn({ pids: orphans }, 'Ending the PostgreSQL that a killed process left running');
    const { survivors } = await stopAll(find, steps);
    if (survivors.length > 0)
      throw new ServerFailed(
        `PostgreSQL of ${layout.cluster} does not end (process ${survivors.join(', ')})`,
        { retryable: true },
      );
  }
  await removeMisleadingPidFile(layout);
};

/** An initdb that was left running, and what it made. */
export const removeUnfinished = async (layout: Layout, account: Account | null): Promise<void> => {
  if (process.platform === 'linux') {
    const find = async (): Promise<number[]> =>
      (await pidsIn(layout.unfinished, account)).filter(isOurs);
    // Nothing in it is worth an orderly end.
    await stopAll(find, steps.slice(-1));
  }
  await rm(layout.unfinished, { recursive: true, force: true });
};

/**
 * PostgreSQL does not start when its pid file names a live process, whoever that is by now. A file that
 * names a dead one is left to PostgreSQL, which looks in it for shared memory still in use.
 */
const removeMisleadingPidFile = async (layout: Layout): Promise<void> => {
  const left = await readPostmasterPid(layout);
  if (left === null) return;
  const isDead = left.pid !== 0 && !isAlive(left.pid);
  if (!isDead) await rm(layout.postmasterPid);
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: alive, and another user's.
    return !gone(error);
  }
};
