import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { nullOnThrow } from '../errors.js';
import { isListening, openLivenessSocket } from './liveness-socket.js';
import { processExists, procStat, readProc } from './proc.js';

/** A live process has the directory. A retry helps once that process has ended. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';
  readonly code = 'LOCK_HELD';

  /** @param host the host name of the holder, where its pid is of another PID namespace or machine; else `null` */
  constructor(
    readonly dir: string,
    readonly pid: number,
    readonly host: string | null = null,
  ) {
    const place = host === null ? '' : ` in another container or machine (host name ${host})`;
    super(`${dir} is in use by process ${pid}${place}`);
  }
}

export interface ProcessLock {
  /** A descriptor for `stdio` of a child process: the directory then stays locked until that child has ended, too. */
  readonly fd: number;
  /** Leaves the lock to the child processes that have the descriptor: it ends with the last of them. */
  handOver(): void;
  /** Synchronous, so that it also works while the process exits. Idempotent. */
  release(): void;
}

const waitStepMs = 50;
/** A take-over lasts milliseconds. After this time, the process that does it must be stopped. */
const takeOverMs = 1_000;

/**
 * The holder of a lock. It lives as long as the socket that is named after `token`, which is new for each
 * acquisition. The other fields are for messages, and for versions of Linklog that have no such socket:
 * those judge by `pid`, `start` (clock ticks since boot) and `boot` (the kernel's id of this boot).
 */
interface Holder {
  readonly pid: number;
  readonly start: string | null;
  readonly boot: string | null;
  readonly token: string;
  /** Its host name; `null` in the record of such an earlier version. */
  readonly host: string | null;
  /** The kernel's id of its pid namespace; `null` where the system gives none. */
  readonly namespace: string | null;
}

const recorded = z.object({
  pid: z.int().min(1),
  start: z.string().nullable(),
  boot: z.string().nullable(),
  // It becomes part of a file name.
  token: z.string().regex(/^[0-9a-f]{16}$/),
  host: z.string().nullable().default(null),
  namespace: z.string().nullable().default(null),
});

/** Null outside Linux, or in a sandbox. */
const bootId = (): string | null => readProc('sys/kernel/random/boot_id')?.trim() ?? null;

/** Null outside Linux. */
const pidNamespace = (): string | null =>
  nullOnThrow(() => readlinkSync('/proc/self/ns/pid'), 'ENOENT', 'EACCES', 'EPERM');

const thisProcess = (): Holder => ({
  pid: process.pid,
  start: procStat(process.pid)?.start ?? null,
  boot: bootId(),
  token: randomBytes(8).toString('hex'),
  host: hostname(),
  namespace: pidNamespace(),
});

const socketName = ({ token }: Holder): string => `lock-${token}`;

/** By its pid: the holder is of a version that has no socket. In doubt true. */
const isEarlierHolderAlive = (holder: Holder): boolean => {
  const boot = bootId();
  if (holder.boot !== null && boot !== null && holder.boot !== boot) return false;
  const stat = procStat(holder.pid);
  if (stat === null) return processExists(holder.pid);
  // A zombie has closed all its files; its parent has not waited for it yet.
  if (stat.state === 'Z' || stat.state === 'X') return false;
  return holder.start === null || holder.start === stat.start;
};

const isHolderAlive = async (dir: string, holder: Holder): Promise<boolean> => {
  if (holder.pid === 0) return false;
  return holder.host === null ? isEarlierHolderAlive(holder) : isListening(dir, socketName(holder));
};

/** The holder in a lock file; null without a file. An unreadable file gives a holder with pid 0. */
const readHolder = (file: string): Holder | null => {
  const fd = nullOnThrow(() => openSync(file, 'r'), 'ENOENT');
  if (fd === null) return null;
  try {
    const { ino, ctimeNs } = fstatSync(fd, { bigint: true });
    // Lock files appear complete, so an empty one is left from a power loss, and its holder with it.
    const token = `broken-${ino}-${ctimeNs}`;
    const unknown = { pid: 0, start: null, boot: null, token, host: null, namespace: null };
    try {
      return recorded.parse(JSON.parse(readFileSync(fd, 'utf8')));
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof z.ZodError) return unknown;
      throw error;
    }
  } finally {
    closeSync(fd);
  }
};

type Attempt =
  | { readonly status: 'taken' }
  | { readonly status: 'held'; readonly holder: Holder }
  /** Another process takes the lock at this moment: look again. `holder` is null where it is not known. */
  | { readonly status: 'moving'; readonly holder: Holder | null };

/** Writes this process's record to a file, which is then moved or linked: complete or not at all. */
const withRecord = <T>(path: string, me: Holder, use: (file: string) => T): T => {
  const file = `${path}.new-${me.token}`;
  writeFileSync(file, JSON.stringify(me), { flag: 'wx', mode: 0o644 });
  try {
    return use(file);
  } finally {
    // It may have been renamed to where it belongs.
    rmSync(file, { force: true });
  }
};

/** @returns whether there was no file */
const linkRecord = (path: string, me: Holder): boolean =>
  withRecord(
    path,
    me,
    (file) =>
      nullOnThrow(() => {
        linkSync(file, path);
        return true;
      }, 'EEXIST') ?? false,
  );

const replaceRecord = (path: string, me: Holder): void => {
  withRecord(path, me, (file) => {
    renameSync(file, path);
  });
};

/**
 * A lock whose holder is dead is replaced only by the process that has the guard named after that holder's
 * token. So of two starters which both saw it dead, the slower one finds either the guard taken, or,
 * once it has the guard, another token in the lock. A guard is a lock like any other: when its holder
 * died in the midst of a take-over, it is itself taken over in the same way.
 */
const take = async (dir: string, name: string, me: Holder): Promise<Attempt> => {
  const path = join(dir, name);
  const found = readHolder(path);
  if (found === null) {
    return linkRecord(path, me) ? { status: 'taken' } : { status: 'moving', holder: null };
  }
  if (await isHolderAlive(dir, found)) return { status: 'held', holder: found };

  const guard = `${name}.${found.token}`;
  const guarded = await take(dir, guard, me);
  if (guarded.status !== 'taken') return { status: 'moving', holder: guarded.holder };
  try {
    if (readHolder(path)?.token !== found.token) return { status: 'moving', holder: null };
    replaceRecord(path, me);
    rmSync(join(dir, socketName(found)), { force: true });
    return { status: 'taken' };
  } finally {
    unlinkSync(join(dir, guard));
  }
};

/** @returns the lock, or why it is not taken */
const attempt = async (
  dir: string,
): Promise<ProcessLock | Exclude<Attempt, { readonly status: 'taken' }>> => {
  const path = join(dir, 'lock');
  const found = readHolder(path);
  // A process that waits leaves no files.
  if (found !== null && (await isHolderAlive(dir, found))) return { status: 'held', holder: found };
  const me = thisProcess();
  const socket = await openLivenessSocket(dir, socketName(me));
  let outcome: Attempt | null = null;
  try {
    outcome = await take(dir, 'lock', me);
  } finally {
    if (outcome?.status !== 'taken') socket.close();
  }
  if (outcome.status !== 'taken') return outcome;
  return {
    fd: socket.fd,
    handOver() {
      socket.handOver();
    },
    release() {
      // First the record: while it is there, its holder lives. A person may have removed the directory, and a later
      // process taken it anew.
      if (readHolder(path)?.token === me.token) unlinkSync(path);
      socket.close();
    },
  };
};

/**
 * Takes `<dir>/lock` for this process, and takes it over from a holder that has died. The directory
 * must exist. The same directory cannot be taken twice, not by one process either.
 *
 * The holder listens on a Unix domain socket in the directory, so the lock holds between all processes of one
 * kernel, also between containers. It does not hold between two machines that share the directory over a network.
 *
 * @param options.waitMs how long to wait for a live holder, in milliseconds; 0, the default: not at all
 * @throws LockHeld when a live process has it at the end of the wait; ConfigError where the file system has no
 * sockets
 */
export const acquireLock = async (
  dir: string,
  { waitMs = 0 }: { waitMs?: number } = {},
): Promise<ProcessLock> => {
  const end = performance.now() + waitMs;
  for (;;) {
    const outcome = await attempt(dir);
    if ('release' in outcome) return outcome;
    const { status, holder } = outcome;
    const grace = status === 'moving' ? takeOverMs : 0;
    const leftMs = end + grace - performance.now();
    if (leftMs <= 0) {
      const isElsewhere = holder !== null && holder.namespace !== pidNamespace();
      throw new LockHeld(dir, holder?.pid ?? 0, isElsewhere ? holder.host : null);
    }
    await sleep(Math.min(leftMs, status === 'moving' ? 2 : waitStepMs));
  }
};

/** Whether a live process, this one included, has the directory. */
export const isLocked = async (dir: string): Promise<boolean> => {
  const holder = readHolder(join(dir, 'lock'));
  return holder !== null && isHolderAlive(dir, holder);
};
