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
import { jsonText } from '../parse.js';
import { isListening, openLivenessSocket } from './liveness-socket.js';

/** Another process holds the lock. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';
  readonly code = 'LOCK_HELD';

  /** @param host the host name of a holder in another PID namespace or machine */
  constructor(
    readonly dir: string,
    readonly pid: number,
    readonly host: string | null = null,
  ) {
    const location = host === null ? '' : ` in another container or machine (host name ${host})`;
    super(`${dir} is in use by process ${pid}${location}`);
  }
}

export interface ProcessLock {
  /** A child process with it in its `stdio` holds the lock too. */
  readonly fd: number;
  /** Leaves the lock to the child processes that have the descriptor. */
  handOver(): void;
  /** Idempotent, and synchronous because it may run while the process exits. */
  release(): void;
}

const waitStepMs = 50;
/** How long to wait for a takeover (ms), which lasts milliseconds unless its process is stopped. */
const takeOverMs = 1_000;

const recorded = z.object({
  pid: z.int().min(1),
  // New for each acquisition, and part of file names.
  token: z.string().regex(/^[0-9a-f]{16}$/),
  host: z.string(),
  /** The kernel's id of the PID namespace; `null` outside Linux. */
  namespace: z.string().nullable(),
});

/**
 * The holder of a lock, which is alive while it listens on the socket that is named after `token`. The other fields are
 * for messages.
 */
type Holder = z.infer<typeof recorded>;

/** `null` outside Linux. */
const pidNamespace = (): string | null =>
  nullOnThrow(() => readlinkSync('/proc/self/ns/pid'), 'ENOENT', 'EACCES', 'EPERM');

const thisProcess = (): Holder => ({
  pid: process.pid,
  token: randomBytes(8).toString('hex'),
  host: hostname(),
  namespace: pidNamespace(),
});

const socketName = ({ token }: Holder): string => `lock-${token}`;

const isHolderAlive = async (dir: string, holder: Holder): Promise<boolean> =>
  holder.pid !== 0 && (await isListening(dir, socketName(holder)));

/** Returns the holder in a lock file, with pid 0 if it is unreadable; `null` if the file does not exist. */
const readHolder = (file: string): Holder | null => {
  const fd = nullOnThrow(() => openSync(file, 'r'), 'ENOENT');
  if (fd === null) return null;
  try {
    const { ino, ctimeNs } = fstatSync(fd, { bigint: true });
    // Lock files are written atomically, so only a power loss leaves an unreadable one.
    const unknown = {
      pid: 0,
      token: `broken-${ino}-${ctimeNs}`,
      host: '',
      namespace: pidNamespace(),
    };
    const { success, data } = jsonText.pipe(recorded).safeParse(readFileSync(fd, 'utf8'));
    return success ? data : unknown;
  } finally {
    closeSync(fd);
  }
};

type Attempt =
  | { readonly status: 'acquired' }
  | { readonly status: 'held'; readonly holder: Holder }
  /** Another process is acquiring the lock now. `holder` is `null` if it is unknown. */
  | { readonly status: 'moving'; readonly holder: Holder | null };

/** Writes the record of this process to a temporary file, which `use` moves or links. */
const withRecord = <T>(path: string, me: Holder, use: (file: string) => T): T => {
  const file = `${path}.new-${me.token}`;
  writeFileSync(file, JSON.stringify(me), { flag: 'wx', mode: 0o644 });
  try {
    return use(file);
  } finally {
    rmSync(file, { force: true });
  }
};

/** Returns `false` if the file exists. */
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
 * Tries to acquire a lock. Only the process that holds the guard, a lock that is named after the dead holder's token, may
 * replace the record. So if two processes find the holder dead, the slower one finds the guard held or another token in
 * the record. The guard of a process that died during a takeover is taken over in the same way.
 */
const tryAcquire = async (dir: string, name: string, me: Holder): Promise<Attempt> => {
  const path = join(dir, name);
  const found = readHolder(path);
  if (found === null) {
    return linkRecord(path, me) ? { status: 'acquired' } : { status: 'moving', holder: null };
  }
  if (await isHolderAlive(dir, found)) return { status: 'held', holder: found };

  const guard = `${name}.${found.token}`;
  const guarded = await tryAcquire(dir, guard, me);
  if (guarded.status !== 'acquired') return { status: 'moving', holder: guarded.holder };
  try {
    if (readHolder(path)?.token !== found.token) return { status: 'moving', holder: null };
    replaceRecord(path, me);
    rmSync(join(dir, socketName(found)), { force: true });
    return { status: 'acquired' };
  } finally {
    unlinkSync(join(dir, guard));
  }
};

/** Returns the lock, or why it was not acquired. */
const attempt = async (
  dir: string,
): Promise<ProcessLock | Exclude<Attempt, { readonly status: 'acquired' }>> => {
  const path = join(dir, 'lock');
  const found = readHolder(path);
  // A waiting process creates no files.
  if (found !== null && (await isHolderAlive(dir, found))) return { status: 'held', holder: found };
  const me = thisProcess();
  const socket = await openLivenessSocket(dir, socketName(me));
  let outcome: Attempt | null = null;
  try {
    outcome = await tryAcquire(dir, 'lock', me);
  } finally {
    if (outcome?.status !== 'acquired') socket.close();
  }
  if (outcome.status !== 'acquired') return outcome;
  return {
    fd: socket.fd,
    handOver() {
      socket.handOver();
    },
    release() {
      // The record first, because its holder must be alive. Another process may hold the lock if the directory was replaced.
      if (readHolder(path)?.token === me.token) unlinkSync(path);
      socket.close();
    },
  };
};

/**
 * Acquires `<dir>/lock`, or takes it over from a dead holder. The lock is not reentrant.
 *
 * The holder listens on a Unix domain socket in the directory, so the lock works between all processes of one kernel, also
 * in different containers, but not between machines that share the directory over a network.
 *
 * @param options.waitMs how long to wait for a live holder (ms)
 * @throws LockHeld; ConfigError if the file system does not support sockets
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

/** Whether a live process, which may be this one, holds the lock. */
export const isLocked = async (dir: string): Promise<boolean> => {
  const holder = readHolder(join(dir, 'lock'));
  return holder !== null && isHolderAlive(dir, holder);
};
