import { rm } from 'node:fs/promises';
import type { Logger } from 'pino';
import { runProgram, type Account } from '../process/child.js';
import {
  endOrphans,
  killAll,
  processesIn,
  processExists,
  procStat,
  readProc,
  type EndStep,
} from '../process/orphans.js';
import { readPostmasterPid, type ClusterLayout } from './layout.js';

const programs = ['postgres', 'initdb'];

/** Without /proc, finds the postmaster alone: by its pid file, if `ps` shows that it runs in this directory. */
const postmasterByPs = async (layout: ClusterLayout): Promise<number[]> => {
  const recorded = await readPostmasterPid(layout);
  if (recorded === null || recorded.pid === 0) return [];
  const args = ['-ww', '-o', 'command=', '-p', String(recorded.pid)];
  const { stdout } = await runProgram(null, 'ps', args);
  const isOurs = stdout.includes('postgres') && stdout.includes(`-D ${layout.cluster}`);
  return isOurs ? [recorded.pid] : [];
};

/** Returns all live PostgreSQL processes of the cluster; except on Linux, the postmaster alone. */
export const postgresPids = (layout: ClusterLayout, account: Account | null): Promise<number[]> =>
  process.platform === 'linux'
    ? processesIn(layout.cluster, programs, account)
    : postmasterByPs(layout);

/** The processes whose parent is not among `pids`: the postmaster, or the children of a dead postmaster. */
const rootsOf = (pids: readonly number[]): number[] =>
  pids.filter((pid) => !pids.includes(procStat(pid)?.parent ?? 0));

/** A child process overwrites its command line with its role, such as `postgres: checkpointer`. */
const isPostmaster = (pid: number): boolean => {
  const line = readProc(`${pid}/cmdline`);
  // Without /proc, only postmasters are found. With /proc, the process has just exited.
  return !line?.startsWith('postgres:');
};

const steps: readonly EndStep[] = [
  // SIGINT is the "fast shutdown" of a postmaster; a child process only cancels its query.
  { signal: 'SIGINT', to: (pids) => rootsOf(pids).filter(isPostmaster), waitMs: 5_000 },
  { signal: 'SIGQUIT', to: rootsOf, waitMs: 2_000 },
  killAll,
];

/**
 * PostgreSQL does not start if its pid file names any live process. A file that names a dead process stays, because
 * PostgreSQL reads from it which shared memory may still be in use.
 */
const removeStalePidFile = async (layout: ClusterLayout): Promise<void> => {
  const recorded = await readPostmasterPid(layout);
  if (recorded === null) return;
  const isDead = recorded.pid !== 0 && !processExists(recorded.pid);
  if (!isDead) await rm(layout.postmasterPid);
};

/**
 * Ends all PostgreSQL processes of this data directory, whose lock the caller holds. Takes 9 s at most.
 *
 * @throws ServerFailed if a process survives SIGKILL
 */
export const endOrphanPostgres = async (
  layout: ClusterLayout,
  account: Account | null,
  logger: Logger,
): Promise<void> => {
  const find = (): Promise<number[]> => postgresPids(layout, account);
  await endOrphans({ name: 'PostgreSQL', dir: layout.cluster, find, steps, logger });
  await removeStalePidFile(layout);
};

export const removeUnfinished = async (
  layout: ClusterLayout,
  account: Account | null,
  logger: Logger,
): Promise<void> => {
  const dir = layout.unfinished;
  const find = (): Promise<number[]> => processesIn(dir, programs, account);
  // A partial cluster is discarded, so initdb is killed.
  await endOrphans({ name: 'initdb', dir, find, steps: [killAll], logger });
  await rm(dir, { recursive: true, force: true });
};
