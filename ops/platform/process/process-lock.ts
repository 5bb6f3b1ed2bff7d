import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { nullOnThrow } from '../errors.js';
import { processExists, procStat, readProc } from './proc.js';

/** A live process has the directory. A retry helps once that process has ended. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';
  readonly code = 'LOCK_HELD';
  readonly retryable = true;

  constructor(
    readonly dir: string,
    readonly pid: number,
  ) {
    super(`${dir} is in use by process ${pid}`);
  }
}

export interface ProcessLock {
  /** Synchronous, so that it also works while the process exits. Idempotent. */
  release(): void;
}

const waitStepMs = 50;
/** A take-over lasts microseconds. After this time, the process that does it must be stopped. */
const takeOverMs = 1_000;

/**
 * The holder of a lock. A pid alone is not enough: pids are used again, above all after a reboot.
 * `start` (clock ticks since boot) and `boot` (the kernel's id of this boot) are null where the
 * system does not give them. `token` is new for each acquisition of the lock.
 */
interface Holder {
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

/** Null outside Linux, or in a sandbox: the pid and its start time are enough then. */
const bootId = (): string | null => readProc('sys/kernel/random/boot_id')?.trim() ?? null;

const thisProcess = (): Holder => ({
  pid: process.pid,
  start: procStat(process.pid)?.start ?? null,
  boot: bootId(),
  token: randomBytes(8).toString('hex'),
});

/** In doubt true: a lock wrongly taken as held costs a message, one wrongly taken as free costs data. */
const isHolderAlive = (holder: Holder): boolean => {
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
const readHolder = (file: string): Holder | null => {
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

type Attempt =
  | { readonly status: 'taken'; readonly token: string }
  | { readonly status: 'held'; readonly pid: number }
  /** Another process takes the lock at this moment: look again. */
  | { readonly status: 'moving'; readonly pid: number };

/** Writes this process's record to a file, which is then moved or linked: complete or not at all. */
const withCandidate = <T>(path: string, use: (file: string, me: Holder) => T): T => {
  const me = thisProcess();
  const file = `${path}.new-${me.token}`;
  writeFileSync(file, JSON.stringify(me), { flag: 'wx', mode: 0o644 });
  try {
    return use(file, me);
  } finally {
    // It may have been renamed to where it belongs.
    rmSync(file, { force: true });
  }
};

const takeLock = (path: string): string | null =>
  withCandidate(path, (file, me) =>
    nullOnThrow(() => {
      linkSync(file, path);
      return me.token;
    }, 'EEXIST'),
  );

const replace = (path: string): string =>
  withCandidate(path, (file, me) => {
    renameSync(file, path);
    return me.token;
  });

/**
 * A lock whose holder is dead is replaced only by whoever holds the guard named after that holder's
 * token. So of two starters who both saw it dead, the slower one finds either the guard taken, or,
 * once it has the guard, another token in the lock. A guard is a lock like any other: when its holder
 * died in the midst of a take-over, it is itself taken over in the same way.
 */
const attempt = (path: string): Attempt => {
  const found = readHolder(path);
  if (found === null) {
    const token = takeLock(path);
    return token === null ? { status: 'moving', pid: 0 } : { status: 'taken', token };
  }
  if (isHolderAlive(found)) return { status: 'held', pid: found.pid };

  const guard = `${path}.${found.token}`;
  const guarded = attempt(guard);
  if (guarded.status !== 'taken') return { status: 'moving', pid: guarded.pid };
  try {
    if (readHolder(path)?.token !== found.token) return { status: 'moving', pid: 0 };
    return { status: 'taken', token: replace(path) };
  } finally {
    unlinkSync(guard);
  }
};

/**
 * Takes `<dir>/lock` for this process, and takes it over from a holder that has died. The directory
 * must exist. The same directory cannot be taken twice, not by one process either.
 *
 * It judges by pid, so all processes that share the directory must see each other: two containers on
 * one volume do not.
 *
 * @param options.waitMs how long to wait for a live holder, in milliseconds; 0, the default: not at all
 * @throws LockHeld when a live process has it at the end of the wait
 */
export const acquireLock = async (
  dir: string,
  { waitMs = 0 }: { waitMs?: number } = {},
): Promise<ProcessLock> => {
  const path = join(dir, 'lock');
  const end = performance.now() + waitMs;
  for (;;) {
    const outcome = attempt(path);
    if (outcome.status === 'taken') {
      return {
        release: () => {
          // A person may have removed the directory, and a later process taken it anew.
          if (readHolder(path)?.token === outcome.token) unlinkSync(path);
        },
      };
    }
    const grace = outcome.status === 'moving' ? takeOverMs : 0;
    const leftMs = end + grace - performance.now();
    if (leftMs <= 0) throw new LockHeld(dir, outcome.pid);
    await sleep(Math.min(leftMs, outcome.status === 'moving' ? 2 : waitStepMs));
  }
};

/** Whether a live process, this one included, has the directory. */
export const isLocked = (dir: string): boolean => {
  const holder = readHolder(join(dir, 'lock'));
  return holder !== null && isHolderAlive(holder);
};
