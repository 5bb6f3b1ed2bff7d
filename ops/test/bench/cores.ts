import { spawnSync } from 'node:child_process';

/** Pins processes, with their threads and future children, to a core. Linux only. */
export const pinTo = (core: number, pids: readonly (number | undefined)[]): void => {
  for (const pid of pids) {
    const { status } = spawnSync('taskset', ['-acp', String(core), String(pid)]);
    if (status !== 0) throw new Error(`taskset could not move process ${pid} to core ${core}`);
  }
};
