import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, realpath } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { retry } from '../../platform/concurrency/retry.js';
import { hasCode } from '../../platform/errors.js';
import { describeExit, lastOutput, stopChild, type Child, type ChildOptions } from './child.js';
import { ServerFailed } from './errors.js';
import { endOrphans, processesIn } from './orphans.js';
import type { Logger } from '../../platform/logging.js';

export interface ServerOptions extends Pick<ChildOptions, 'logger' | 'tied'> {
  /** Created if missing. The caller ensures that no other process uses it. */
  readonly dataDir: string;
  /** The default is any free port. */
  readonly port?: number;
}

/** Creates a server's data directory and ends the orphans in it. @returns its real path */
export const openServerDir = async (
  { dataDir, logger }: ServerOptions,
  { name, program }: Pick<ChildOptions, 'name' | 'program'>,
): Promise<string> => {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const dir = await realpath(dataDir);
  await endOrphans({ name, dir, find: () => processesIn(dir, [program]), logger });
  return dir;
};

/** Returns a free TCP port of 127.0.0.1. @throws EADDRINUSE if `wanted` is in use */
export const freePort = async (wanted = 0): Promise<number> => {
  const server = createServer().listen(wanted, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};

/**
 * Returns a free TCP port of 127.0.0.1 below Linux's ephemeral ports (32768), which no outgoing connection can occupy
 * during a restart.
 */
export const stablePort = (): Promise<number> =>
  retry(() => freePort(randomInt(20_000, 32_768)), {
    isRetryable: (error) => hasCode(error, 'EADDRINUSE'),
  });

/** A server that neither `stop` nor `restart` has ended `died`, also by a signal of `kill`. */
type ServerExit =
  | { readonly status: 'stopped' }
  /** `reason` is one line, such as `signal SIGKILL`; `output` is the end of the server's log. */
  | { readonly status: 'died'; readonly reason: string; readonly output: string };

const exitOf = async (child: Child, isExpected: () => boolean): Promise<ServerExit> => {
  const exit = await child.exited;
  if (isExpected()) return { status: 'stopped' };
  const output = await lastOutput(child).catch((error: unknown) => `(no log: ${String(error)})`);
  return { status: 'died', reason: describeExit(exit), output };
};

/** The attempts take about 6 s. */
const retries = { attempts: 25, pauses: { firstMs: 250, longestMs: 250 } };

/**
 * Starts a server as a child process, and retries on another port if another process has taken its port. `restart`
 * starts another process with the same data and port.
 */
export const startServer = async (options: {
  /** A fixed port, whose use by another process is an error; 0 if the server chooses; or a function that finds one. */
  readonly port: number | (() => Promise<number>);
  readonly begin: (port: number) => Promise<Child>;
  /** Resolves when the child is ready. */
  readonly ready: (child: Child, port: number) => Promise<void>;
  readonly sweep?: () => Promise<void>;
}) => {
  const { port: portOption, begin, ready, sweep } = options;
  let run: { readonly child: Child; readonly exited: Promise<ServerExit> } | null = null;
  /** Children that `stop` or `restart` has ended. */
  const ended = new WeakSet<Child>();
  let port = typeof portOption === 'number' ? portOption : 0;
  let wasReady = false;
  let stopping: Promise<void> | null = null;

  const current = () => {
    if (run === null) throw new Error('the server has no process before its start');
    return run;
  };
  // A function, because the value changes during an await.
  const isStopping = (): boolean => stopping !== null;
  const end = async (): Promise<void> => {
    if (run === null) return;
    ended.add(run.child);
    await stopChild(run.child);
    await sweep?.();
  };
  const attempt = async (): Promise<void> => {
    if (isStopping()) throw new ServerFailed('the server was stopped at its start');
    if (typeof portOption !== 'number' && !wasReady) port = await portOption();
    const child = await begin(port);
    run = { child, exited: exitOf(child, () => ended.has(child)) };
    if (isStopping()) await end();
    await ready(child, port);
    wasReady = true;
  };
  const start = (): Promise<void> =>
    retry(attempt, {
      ...retries,
      // A conflict on a fixed port is an error at the first start. At a restart, the port becomes free again.
      isRetryable: (error) =>
        error instanceof ServerFailed &&
        error.retryable &&
        (typeof portOption !== 'number' || wasReady) &&
        !isStopping(),
    });
  let starting = start();
  await starting;

  return {
    get pid() {
      return current().child.pid;
    },
    /** A restart does not change it. */
    get port() {
      return port;
    },
    get process() {
      return current().child.process;
    },
    /** Resolves when the current process has exited. Never rejects. */
    get exited() {
      return current().exited;
    },
    /** Resolves when the process has exited. Idempotent. */
    stop(): Promise<void> {
      // A concurrent restart may have started a new process; its failure is reported to its caller.
      const stop = async (): Promise<void> => {
        await end();
        await Promise.allSettled([starting]);
      };
      return (stopping ??= stop());
    },
    /** Sends a signal without further handling. */
    kill(signal: NodeJS.Signals): void {
      current().child.process.kill(signal);
    },
    /** Resolves when the new process is ready. @throws ServerFailed */
    async restart(): Promise<void> {
      stopping = null;
      starting = end().then(start);
      await starting;
    },
  };
};

export type Server = Awaited<ReturnType<typeof startServer>>;

/** The back-off between restarts; a server that lived for 10 s is not in a crash loop. */
const restarts = { pauses: { firstMs: 100, longestMs: 5_000 }, steadyMs: 10_000 };

/** Restarts a server whenever it dies, until the signal is aborted or the server is stopped. */
export const keepRunning = (
  server: Server,
  {
    name,
    signal,
    onRestarted,
    message = () => 'restarting a process that is down',
    logger,
  }: {
    /** The name in the log, such as `api 0`. */
    readonly name: string;
    readonly signal: AbortSignal;
    readonly onRestarted?: () => void;
    /** Returns the message of the log line about a restart. */
    readonly message?: () => string;
    readonly logger: Logger;
  },
): void => {
  let isDead = false;
  const runOnce = async (): Promise<void> => {
    if (isDead) {
      await server.restart();
      signal.throwIfAborted();
      onRestarted?.();
    }
    const exit = await server.exited;
    isDead = true;
    if (exit.status === 'died') {
      throw new ServerFailed(`${name} died (${exit.reason})`, { output: exit.output });
    }
  };
  const onFailure = (err: unknown): void => {
    logger.warn({ err, part: name }, message());
  };
  // Failures are logged above and retried; `retry` rejects only if the signal is aborted.
  retry(runOnce, { ...restarts, signal, onFailure }).catch(() => undefined);
};
