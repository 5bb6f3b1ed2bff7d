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
import { ConfigError, hasCode } from '../errors.js';

/** Bytes of a socket path: the limit is 103 on macOS and 107 on Linux, and libuv truncates longer paths. */
const longestPath = 103;

/** Calls `use` with a path that is short enough for a socket. */
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

/** Errors of `bind` if the file system or a sandbox does not support Unix domain sockets. */
const unsupported = ['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'EINVAL', 'ENOSYS', 'EAFNOSUPPORT'] as const;

const explain = (dir: string, error: unknown): unknown => {
  if (hasCode(error, ...unsupported)) {
    return new ConfigError(
      `${dir} cannot be locked: its file system has no Unix domain sockets ` +
        `(${(error as NodeJS.ErrnoException).code}); use a directory on a local disk`,
      { cause: error },
    );
  }
  // libuv reports a missing directory as EACCES; `statSync` throws ENOENT.
  if (hasCode(error, 'EACCES')) statSync(dir);
  return error;
};

/** Node has no public API for it. */
const descriptorOf = (server: Server): number =>
  (server as Server & { readonly _handle: { readonly fd: number } })._handle.fd;

interface LivenessSocket {
  /** A child process with it in its `stdio` keeps the socket open too. */
  readonly fd: number;
  /** Closes the descriptor of this process only. */
  handOver(): void;
  /** Closes the socket and deletes its file. Synchronous and idempotent. */
  close(): void;
}

/**
 * Listens on a Unix domain socket, which the kernel finds by its inode, so `isListening` works in every container of this
 * machine. It ends with the process, and does not keep the event loop alive. Child processes do not inherit it.
 *
 * @throws ConfigError if the file system does not support sockets; other errors of the file system
 */
export const openLivenessSocket = async (dir: string, name: string): Promise<LivenessSocket> => {
  const server = createServer({ pauseOnConnect: true }, (socket) => socket.destroy());
  server.unref();
  const file = join(dir, name);
  // libuv deletes the file that it has bound at the end of the process, but a child process may still use the socket.
  const bound = `${name}.new`;
  try {
    await withSocketPath(dir, bound, (path) => {
      // `exclusive`, because a cluster worker would share the socket of the primary.
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
  // A failed accept does not matter, because the peer is connected before.
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
 * Whether a process, which may be stopped (SIGSTOP), listens on the socket.
 *
 * @throws EACCES if this user may not connect
 */
export const isListening = (dir: string, name: string): Promise<boolean> =>
  withSocketPath(dir, name, async (path) => {
    const socket = connect({ path });
    try {
      await once(socket, 'connect');
      return true;
    } catch (error) {
      // The backlog is full, because the process is stopped.
      if (hasCode(error, 'EAGAIN')) return true;
      // The listener was closed before it accepted.
      if (hasCode(error, 'ECONNRESET')) return await isListening(dir, name);
      // ENOTSOCK: a copy of the directory has a regular file (macOS).
      if (hasCode(error, 'ECONNREFUSED', 'ENOENT', 'ENOTSOCK')) return false;
      throw error;
    } finally {
      socket.destroy();
    }
  });
