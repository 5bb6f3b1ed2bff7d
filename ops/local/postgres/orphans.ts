import { rm } from 'node:fs/promises';
import type { Logger } from 'pino';
import { processExists, procStat, readProc } from '../../platform/process/proc.js';
import { runProgram, type Account } from '../process/child.js';
import { endOrphans, killAll, processesIn, type EndStep } from '../process/orphans.js';
import { readPostmasterPid, type ClusterLayout } from './layout.js';

const programs = ['postgres', 'initdb'];

/** Without /proc: the postmaster alone, by its file, when `ps` says that it is one of this directory. */
const postmasterByPs = async (layout: ClusterLayout): Promise<number[]> => {
  const recorded = await readPostmasterPid(layout);
  if (recorded === null || recorded.pid === 0) return [];
  const { stdout } = await runProgram(null, 'ps', [
    '-ww',
    '-o',
    'command=',
    '-p',
    String(recorded.pid),
  ]);
  const isOurs = stdout.includes('postgres') && stdout.includes(`-D ${layout.cluster}`);
  return isOurs ? [recorded.pid] : [];
};

/** Every PostgreSQL process of the cluster that lives; elsewhere than on Linux its postmaster alone. */
export const postgresPids = (layout: ClusterLayout, account: Account | null): Promise<number[]> =>
  process.platform === 'linux'
    ? processesIn(layout.cluster, programs, account)
    : postmasterByPs(layout);

/** Those whose parent is not among them: the postmaster; or, when that is dead, all its children. */
const heads = (pids: readonly number[]): number[] =>
  pids.filter((pid) => !pids.includes(procStat(pid)?.parent ?? 0));

/** A child's command line has been overwritten with what it does: `postgres: checkpointer`. */
const isPostmaster = (pid: number): boolean => {
  const line = readProc(`${pid}/cmdline`);
  // Without /proc only postmasters are found at all; with it, this one has just ended.
  return !line?.startsWith('postgres:');
};

const steps: readonly EndStep[] = [
  // A postmaster's "fast shutdown"; to a child without postmaster it only means to cancel its query.
  { signal: 'SIGINT', to: (pids) => heads(pids).filter(isPostmaster), waitMs: 5_000 },
  { signal: 'SIGQUIT', to: heads, waitMs: 2_000 },
  killAll,
];

/**
 * PostgreSQL does not start when its pid file names a live process, whoever that is by now. A file that
 * names a dead one is left to PostgreSQL, which looks in it for shared memory still in use.
 */
const removeMisleadingPidFile = async (layout: ClusterLayout): Promise<void> => {
  const left = await readPostmasterPid(layout);
  if (left === null) return;
  const isDead = left.pid !== 0 && !processExists(left.pid);
  if (!isDead) await rm(layout.postmasterPid);
};

/**
 * Ends every PostgreSQL process of this data directory, whose lock the caller has.
 *
 * @throws ServerFailed when one does not even end by SIGKILL (9 s at most)
 */
export const endOrphanPostgres = async (
  layout: ClusterLayout,
  account: Account | null,
  logger: Logger,
): Promise<void> => {
  const find = (): Promise<number[]> => postgresPids(layout, account);
  await endOrphans({ name: 'PostgreSQL', dir: layout.cluster, find, steps, logger });
  await removeMisleadingPidFile(layout);
};

/** Ends an initdb that was left running, and removes what it made. */
export const removeUnfinished = async (
  layout: ClusterLayout,
  account: Account | null,
  logger: Logger,
): Promise<void> => {
  const dir = layout.unfinished;
  const find = (): Promise<number[]> => processesIn(dir, programs, account);
  // Nothing in it is worth an orderly end.
  await endOrphans({ name: 'initdb', dir, find, steps: [killAll], logger });
  await rm(dir, { recursive: true, force: true });
};
