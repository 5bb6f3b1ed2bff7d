import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, realpath } from 'node:fs/promises';
import { createServer } from 'node:net';
import { retry } from '../../platform/concurrency/retry.js';
import { hasCode } from '../../platform/errors.js';
import { describeExit, lastOutput, stopChild, type Child, type ChildOptions } from './child.js';
import { ServerFailed } from './errors.js';
import { endOrphans, processesIn } from './orphans.js';

/** What a server is started with that keeps everything in a folder of its own. */
export interface ServerOptions extends Pick<ChildOptions, 'logger' | 'tied'> {
  /** Its own; made where it is missing. The caller sees to it that nobody else uses it. */
  readonly dataDir: string;
  /** By default any free one. */
  readonly port?: number;
}

/**
 * Makes a server's folder, and ends what a killed process left running there.
 *
 * @returns the folder's real path
 */
export const openServerDir = async (
  { dataDir, logger }: ServerOptions,
  { name, program }: Pick<ChildOptions, 'name' | 'program'>,
): Promise<string> => {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const dir = await realpath(dataDir);
  await endOrphans({ name, dir, find: () => processesIn(dir, [program]), logger });
  return dir;
};

/** A TCP port of 127.0.0.1 that nobody listens on now. */
export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  return address.port;
};

/**
 * A TCP port of 127.0.0.1 that is free now, and that stays free while its server restarts: Linux gives
 * connections ports from 32768 on, so any process could get one of those meanwhile.
 */
export const stablePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(20_000, 32_768);
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch (error) {
      if (hasCode(error, 'EADDRINUSE')) continue;
      throw error;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
};

/** `died` is everything but `stop` and `restart`, a signal by `kill` included. */
type ServerExit =
  | { readonly status: 'stopped' }
  /** `reason` is one line (`signal SIGKILL`), `output` the last lines of the server's log. */
  | { readonly status: 'died'; readonly reason: string; readonly output: string };

const exitOf = async (child: Child, isExpected: () => boolean): Promise<ServerExit> => {
  const exit = await child.exited;
  if (isExpected()) return { status: 'stopped' };
  const output = await lastOutput(child).catch((error: unknown) => `(no log: ${String(error)})`);
  return { status: 'died', reason: describeExit(exit), output };
};

/** Up to 5 s in all. */
const retries = { attempts: 25, pauses: { firstMs: 250, longestMs: 250 } };

/**
 * Starts a server as our child, and again on another port where another process was faster. After a
 * `restart` it is another process with the same data and address.
 */
export const startServer = async (options: {
  /**
   * What finds a port for its first start, or the very port: then it is an error if another process
   * has it. 0 where it chooses for itself.
   */
  readonly port: number | (() => Promise<number>);
  /** Launches a process of it. */
  readonly begin: (port: number) => Promise<Child>;
  /** Waits until that process answers. */
  readonly ready: (child: Child, port: number) => Promise<void>;
  /** Ends what its process left behind. */
  readonly sweep?: () => Promise<void>;
}) => {
  const { port: place, begin, ready, sweep } = options;
  let run: { readonly child: Child; readonly exited: Promise<ServerExit> } | null = null;
  /** Children whose end is no accident. */
  const ended = new WeakSet<Child>();
  let port = typeof place === 'number' ? place : 0;
  let wasReady = false;
  let stopping: Promise<void> | null = null;

  const current = () => {
    if (run === null) throw new Error('a server that was started has a process');
    return run;
  };
  // Read by a call: it may change while something is awaited.
  const isStopping = (): boolean => stopping !== null;
  const end = async (): Promise<void> => {
    if (run === null) return;
    ended.add(run.child);
    await stopChild(run.child);
    await sweep?.();
  };
  const attempt = async (): Promise<void> => {
    if (isStopping()) throw new ServerFailed('the server was stopped at its start');
    if (typeof place !== 'number' && !wasReady) port = await place();
    const child = await begin(port);
    run = { child, exited: exitOf(child, () => ended.has(child)) };
    if (isStopping()) await end();
    await ready(child, port);
    wasReady = true;
  };
  const start = (): Promise<void> =>
    retry(attempt, {
      ...retries,
      // A port that the caller chose and another has is an error; our own of before comes free again.
      isRetryable: (error) =>
        error instanceof ServerFailed &&
        error.retryable &&
        (typeof place !== 'number' || wasReady) &&
        !isStopping(),
    });
  let starting = start();
  await starting;

  return {
    get pid() {
      return current().child.pid;
    },
    /** A restart keeps it. */
    get port() {
      return port;
    },
    get process() {
      return current().child.process;
    },
    /** Resolves once the present process has ended; never rejects. */
    get exited() {
      return current().exited;
    },
    /** Resolves when it is gone; for good, save for `restart`. Idempotent. */
    stop(): Promise<void> {
      // A restart may have made a new process by now; the caller of `restart` hears how that went.
      const stop = async (): Promise<void> => {
        await end();
        await Promise.allSettled([starting]);
      };
      return (stopping ??= stop());
    },
    /** Sends a signal, and no more: SIGSTOP pauses it. */
    kill(signal: NodeJS.Signals): void {
      current().child.process.kill(signal);
    },
    /** Ends what still runs, and resolves when it answers again. @throws ServerFailed */
    async restart(): Promise<void> {
      stopping = null;
      starting = end().then(start);
      await starting;
    },
  };
};

export type Server = Awaited<ReturnType<typeof startServer>>;
