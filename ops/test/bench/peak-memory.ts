import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const pollMs = 50;

/** The most resident memory that a process has had when it ends, in MiB. Linux only. */
export const peakMemoryOf = async (
  pid: number | undefined,
  ended: Promise<unknown>,
): Promise<number> => {
  let peakMiB = 0;
  const isOver = new AbortController();
  // How it ended is the caller's matter.
  const over = Promise.allSettled([ended]).then(() => {
    isOver.abort();
  });
  while (!isOver.signal.aborted) {
    // It may end between two looks; the last look is what counts.
    const status = await readFile(`/proc/${pid ?? 0}/status`, 'utf8').catch(() => '');
    const [, kiB] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
    if (kiB !== undefined) peakMiB = Math.round(Number(kiB) / 1_024);
    await Promise.race([over, sleep(pollMs)]);
  }
  return peakMiB;
};
