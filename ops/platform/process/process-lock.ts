import { linkSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isHolderAlive, readHolder, thisProcess, type Holder } from './process-lock-holder.js';
import { nullOnThrow } from '../errors.js';

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
