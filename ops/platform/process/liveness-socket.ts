import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from './config-error.js';
import { hasCode } from '../errors.js';

/** Bytes of a socket's path: the limit is 103 on macOS and 107 on Linux, and libuv cuts a longer one off. */
const longestPath = 103;

/** Calls `use` with a path of the file that is short enough for a socket. */
const withSocketPath = async <Result>(
  dir: string,
  name: string,
  use: (path: string) => Promise<Result>,
): Promise<Result> => {
  const path = join(dir, name);
  if (Buffer.byteLength(path) <= longestPath) return use(path);
  if (process.platform === 'linux') {
    const fd = openSync(dir, 'r');
    try {
      return await use(`/proc/self/fd/${fd}/${name}`);
    } finally {
      closeSync(fd);
    }
  }
  const folder = mkdtempSync(join(tmpdir(), 'linklog-'));
  try {
    symlinkSync(dir, join(folder, 'd'));
    return await use(join(folder, 'd', name));
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** What `bind` fails with where the file system, or a sandbox, has no Unix domain sockets. */
const unsupported = ['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'EINVAL', 'ENOSYS', 'EAFNOSUPPORT'] as const;

const explain = (dir: string, error: unknown): unknown => {
  if (hasCode(error, ...unsupported)) {
    return new ConfigError(
      `${dir} cannot be locked: its file system has no Unix domain sockets ` +
        `(${(error as NodeJS.ErrnoException).code}); use a directory on a local disk`,
      { cause: error },
    );
  }
  // libuv reports a missing directory as EACCES; stat throws ENOENT then.
  if (hasCode(error, 'EACCES')) statSync(dir);
  return error;
};

/** Node has no public way to it. */
const descriptorOf = (server: Server): number =>
  (server as Server & { readonly _handle: { readonly fd: number } })._handle.fd;

export interface LivenessSocket {
  /** Its descriptor, for `stdio` of a child process: the socket then lives until that child has ended, too. */
  readonly fd: number;
  /** Closes this process's descriptor, so that the socket lives as long as the child processes that have it. */
  handOver(): void;
  /** Closes it and deletes the file. Synchronous and idempotent. */
  close(): void;
}

/**
 * Makes a Unix domain socket that this process listens on. The kernel finds it by its inode, so
 * `isListening` is right in every container of this machine, and it ends with the process, however that
 * ends. It does not keep the event loop alive. Child processes do not inherit it unless they are given it.
 *
 * @throws ConfigError where the file system has no sockets; else what the file system threw
 */
export const openLivenessSocket = async (dir: string, name: string): Promise<LivenessSocket> => {
  const server = createServer({ pauseOnConnect: true }, (socket) => socket.destroy());
  server.unref();
  const file = join(dir, name);
  // libuv deletes the file that it has bound when the process ends, but a child process may still have the socket.
  const bound = `${name}.new`;
  try {
    await withSocketPath(dir, bound, (path) => {
      // In a cluster worker, too, the socket is this process's own.
      server.listen({ path, exclusive: true });
      return once(server, 'listening');
    });
    chmodSync(join(dir, bound), 0o600);
    renameSync(join(dir, bound), file);
  } catch (error) {
    server.close();
    rmSync(join(dir, bound), { force: true });
    throw explain(dir, error);
  }
  // The peer is connected before it is accepted: that accept failed, as for want of descriptors, does not matter.
  server.on('error', () => undefined);
  return {
    fd: descriptorOf(server),
    handOver() {
      server.close();
    },
    close() {
      server.close();
      rmSync(file, { force: true });
    },
  };
};

/**
 * Whether a process listens on the socket, even one that is stopped (SIGSTOP).
 *
 * @throws EACCES where this user may not connect
 */
export const isListening = (dir: string, name: string): Promise<boolean> =>
  withSocketPath(dir, name, async (path) => {
    const socket = connect({ path });
    try {
      await once(socket, 'connect');
      return true;
    } catch (error) {
      // The queue of connections is full: a stopped process does not accept them.
      if (hasCode(error, 'EAGAIN')) return true;
      // The listener was closed before it accepted: now it refuses.
      if (hasCode(error, 'ECONNRESET')) return await isListening(dir, name);
      // ENOTSOCK: a copy that is an ordinary file, on macOS.
      if (hasCode(error, 'ECONNREFUSED', 'ENOENT', 'ENOTSOCK')) return false;
      throw error;
    } finally {
      socket.destroy();
    }
  });
