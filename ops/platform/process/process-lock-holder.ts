import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { hasCode, nullOnThrow } from '../errors.js';

/**
 * The holder of a lock. A pid alone is not enough: pids are used again, above all after a reboot.
 * `start` (clock ticks since boot) and `boot` (the kernel's id of this boot) are null where the
 * system does not give them. `token` is new for each acquisition of the lock.
 */
export interface Holder {
  readonly pid: number;
  readonly start: string | null;
  readonly boot: string | null;
  readonly token: string;
}

const recorded = z.object({
  pid: z.int().min(1),
  start: z.string().nullable(),
  boot: z.string().nullable(),
  // It becomes part of a file name.
  token: z.string().regex(/^[0-9a-f]{16}$/),
});

/** ESRCH: the process ended while it was read. EACCES: /proc is mounted with hidepid. */
const readProc = (file: string): string | null =>
  nullOnThrow(() => readFileSync(file, 'utf8'), 'ENOENT', 'ESRCH', 'EACCES', 'EPERM');

/** State letter and start time of a process, or null where there is no such file. */
const procStat = (pid: number): { state: string; start: string } | null => {
  const text = readProc(`/proc/${pid}/stat`);
  if (text === null) return null;
  // The second field is the program's name in parentheses and may itself hold spaces and ")".
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', start: fields[19] ?? '' };
};

/** Null outside Linux, or in a sandbox: the pid and its start time are enough then. */
const bootId = (): string | null => readProc('/proc/sys/kernel/random/boot_id')?.trim() ?? null;

export const processExists = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives and belongs to somebody else.
    return !hasCode(error, 'ESRCH');
  }
};

export const thisProcess = (): Holder => ({
  pid: process.pid,
  start: procStat(process.pid)?.start ?? null,
  boot: bootId(),
  token: randomBytes(8).toString('hex'),
});

/** In doubt true: a lock wrongly taken as held costs a message, one wrongly taken as free costs data. */
export const isHolderAlive = (holder: Holder): boolean => {
  if (holder.pid === 0) return false;
  const boot = bootId();
  if (holder.boot !== null && boot !== null && holder.boot !== boot) return false;
  const stat = procStat(holder.pid);
  if (stat === null) return processExists(holder.pid);
  // A zombie has closed all its files; its parent has not waited for it yet.
  if (stat.state === 'Z' || stat.state === 'X') return false;
  return holder.start === null || holder.start === stat.start;
};

/** The holder in a lock file; null without a file. An unreadable file gives a holder with pid 0. */
export const readHolder = (file: string): Holder | null => {
  const fd = nullOnThrow(() => openSync(file, 'r'), 'ENOENT');
  if (fd === null) return null;
  try {
    const { ino, ctimeNs } = fstatSync(fd, { bigint: true });
    // Lock files appear complete, so an empty one is left from a power loss, and its holder with it.
    const nobody = { pid: 0, start: null, boot: null, token: `broken-${ino}-${ctimeNs}` };
    try {
      return recorded.parse(JSON.parse(readFileSync(fd, 'utf8')));
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof z.ZodError) return nobody;
      throw error;
    }
  } finally {
    closeSync(fd);
  }
};
