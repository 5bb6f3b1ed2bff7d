import { spawn, type ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { once } from 'node:events';
import { closeSync, createReadStream, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { endsWithin } from '../../platform/concurrency/deadline.js';
import { deferred } from '../../platform/concurrency/deferred.js';
import type { Logger } from '../../platform/logging.js';
import { ServerFailed } from './errors.js';
import { copyFile, rename, stat, truncate } from 'node:fs/promises';
import { nullOn } from '../../platform/errors.js';

const maxBytes = 8 * 1024 * 1024;
const checkMs = 30_000;
const tailBytes = 16 * 1024;

/**
 * Renames the log of the last run to `<path>.1` and opens a new one. The server writes to the file directly, so no
 * output is lost when we are killed.
 *
 * @returns a file descriptor for the server's stdout and stderr
 */
export const openLogFile = async (path: string): Promise<number> => {
  await nullOn(rename(path, `${path}.1`), 'ENOENT');
  // 'ax': in append mode, truncation leaves no hole; and an exclusive open follows no symbolic link.
  return openSync(path, 'ax', 0o600);
};

/** Moves the content of a log to `<path>.1` if it is longer than `limit` bytes. */
export const cutLogFile = async (path: string, limit = maxBytes): Promise<void> => {
  if ((await stat(path)).size <= limit) return;
  // Copied, because the server would continue to write to a renamed file.
  await copyFile(path, `${path}.1`);
  await truncate(path);
};

/** Bounds the log to about 16 MiB, `<path>.1` included. @returns a function that stops this */
const boundLogFile = (path: string, logger: Logger): (() => void) => {
  const timer = setInterval(() => {
    cutLogFile(path).catch((error: unknown) => {
      logger.warn({ err: error, path }, 'cannot bound the log of a server');
    });
  }, checkMs).unref();
  return () => {
    clearInterval(timer);
  };
};

const lastLines = (output: string): string => output.trimEnd().split('\n').slice(-15).join('\n');

export const tailOf = async (path: string): Promise<string> => {
  const { size } = await stat(path);
  return lastLines(await text(createReadStream(path, { start: Math.max(0, size - tailBytes) })));
};

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** The environment of PostgreSQL's programs. We parse their messages, so the locale is fixed. */
export const minimalEnv = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/local/bin:/usr/bin:/bin' };

interface RunOptions {
  readonly dir?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Replaces a known failure to start or an early exit by an error with a remedy. */
type Explain = (error: unknown) => unknown;

/**
 * Runs a program to its end as `account` (null: this process's user).
 *
 * @throws the system's error if it cannot be started, for example EPERM if we may not switch to `account`
 */
export const runProgram = async (
  account: Account | null,
  program: string,
  args: readonly string[],
  { dir = '/', env = minimalEnv }: RunOptions = {},
) => {
  const child = spawn(program, args, {
    ...account,
    cwd: dir,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [[exitCode], stdout, stderr] = await Promise.all([
    once(child, 'close') as Promise<[number | null]>,
    text(child.stdout),
    text(child.stderr),
  ]);
  return { exitCode, stdout, stderr };
};

/**
 * Runs a program to its end.
 *
 * @throws ServerFailed or the system's error, explained, if it fails or cannot be started
 */
export const runToSuccess = async (
  account: Account | null,
  program: string,
  args: readonly string[],
  options: RunOptions & {
    /** The error's message; the program's last lines are appended. */
    readonly failure: string;
    readonly retryable?: boolean;
    readonly explain: Explain;
  },
): Promise<void> => {
  const { failure, retryable = false, explain } = options;
  try {
    const { exitCode, stdout, stderr } = await runProgram(account, program, args, options);
    if (exitCode === 0) return;
    const output = lastLines(`${stdout}\n${stderr}`);
    throw new ServerFailed(failure, { output, exitCode, retryable });
  } catch (error) {
    throw await explain(error);
  }
};

export interface ChildOptions {
  /** The name in messages, such as `Kafka`. */
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
  /** The working directory. It is the child's own, because a later start finds orphans by it. */
  readonly dir: string;
  readonly account?: Account | null;
  readonly env?: NodeJS.ProcessEnv;
  /** A file descriptor that the child inherits as 3. */
  readonly inherits?: number;
  /** A bounded file for stdout and stderr. `null`: stdout is piped to us, and stderr is inherited. */
  readonly logFile: string | null;
  readonly logger: Logger;
  /** Whether the child is killed when this process exits for any reason. */
  readonly tied?: boolean;
  /** Signals before SIGKILL; by default SIGTERM, with a wait of 6 s. */
  readonly stopSteps?: readonly { readonly signal: NodeJS.Signals; readonly waitMs: number }[];
  readonly explain?: Explain;
  /**
   * Whether the child is a Node program (`args` are its file and arguments) that shares ports with others: connections
   * are distributed round-robin. It is in our process group, so that Ctrl-C reaches it, and exits with us.
   */
  readonly sharesPorts?: boolean;
}

const explained = ({ explain }: ChildOptions, error: unknown): unknown => explain?.(error) ?? error;

interface Exit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

export const describeExit = ({ exitCode, signal }: Exit): string =>
  signal === null ? `exit code ${exitCode ?? '?'}` : `signal ${signal}`;

/** Kills a process when this one exits, even by SIGKILL: a shell waits for the end of a pipe from this process. */
const tie = (pid: number, exited: Promise<Exit>): void => {
  const watch = spawn('/bin/sh', ['-c', 'read -r _; kill -9 "$1"', 'sh', String(pid)], {
    cwd: '/',
    // Not in our process group, which may be killed as a whole.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watch.unref();
  // Another process may get the pid later.
  void exited.then(() => watch.kill('SIGKILL'));
};

const fork = (
  [exec = '', ...args]: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv | undefined,
  stdio: (string | number)[],
): ChildProcess => {
  cluster.setupPrimary({ exec, args, cwd, stdio });
  return cluster.fork(env).process;
};

/** @throws the system's error, explained, if it cannot be started, such as ENOENT if it is not in PATH */
export const launch = async (options: ChildOptions) => {
  const { name, program, args, dir, account, env, logFile, logger } = options;
  const { tied = false, sharesPorts = false, inherits } = options;
  const log = logFile === null ? null : await openLogFile(logFile);
  const stdio =
    log === null ? (['ignore', 'pipe', 'inherit'] as const) : (['ignore', log, log] as const);
  const child = sharesPorts
    ? fork(args, dir, env, [...stdio, 'ipc'])
    : spawn(program, args, {
        ...account,
        cwd: dir,
        ...(env && { env }),
        // In its own session, Ctrl-C does not reach it, and we stop it after its clients.
        detached: true,
        stdio: [...stdio, ...(inherits === undefined ? [] : [inherits])],
      });
  const { promise: exited, resolve } = deferred<Exit>();
  child.once('exit', (exitCode, signal) => {
    resolve({ exitCode, signal });
  });
  try {
    await once(child, 'spawn');
  } catch (error) {
    throw await explained(options, error);
  } finally {
    if (log !== null) closeSync(log);
  }
  child.on('error', (error) => {
    // After the spawn, the only error is a signal that may not be sent. stopChild detects it by its timeouts.
    logger.warn({ err: error }, `cannot signal ${name}`);
  });
  if (child.pid === undefined) throw new Error(`${name} was spawned without a pid`);
  if (tied) tie(child.pid, exited);
  if (logFile !== null) void exited.then(boundLogFile(logFile, logger));
  return { ...options, pid: child.pid, process: child, exited };
};

export type Child = Awaited<ReturnType<typeof launch>>;

/** Returns the last lines of the child's log file; an empty string if it has none. */
export const lastOutput = async ({ logFile }: Child): Promise<string> =>
  logFile === null ? '' : tailOf(logFile);

/** Sends `stopSteps`, then SIGKILL; resolves when the child has exited. */
export const stopChild = async ({
  process: child,
  exited,
  stopSteps = [{ signal: 'SIGTERM', waitMs: 6_000 }],
}: Child): Promise<void> => {
  for (const { signal, waitMs } of stopSteps) {
    child.kill(signal);
    // A stopped process (Ctrl-Z, a test) would not receive the signal.
    child.kill('SIGCONT');
    if (await endsWithin(exited, waitMs)) return;
  }
  child.kill('SIGKILL');
  await exited;
};

const pollMs = 25;
const slowMs = 5_000;
/** The port is in use, or children of a killed postmaster have not exited yet. */
const transientCause = /address already in use|pre-existing shared memory block/i;

/**
 * Resolves when `isReady` returns true.
 *
 * @throws ServerFailed, explained, if the child exits or is not ready in time; retryable if its port is in use
 */
export const untilReady = async (
  child: Child,
  isReady: () => Promise<boolean>,
  timeoutMs = 120_000,
): Promise<void> => {
  const { name, logger, logFile } = child;
  const exits: Exit[] = [];
  void child.exited.then((exit) => exits.push(exit));
  const startedAt = performance.now();
  let isSlow = false;
  while (!(await isReady())) {
    const [exit] = exits;
    if (exit !== undefined) {
      const output = await lastOutput(child);
      const failure = new ServerFailed(`${name} ended at its start (${describeExit(exit)})`, {
        output,
        exitCode: exit.exitCode,
        retryable: transientCause.test(output),
      });
      throw await explained(child, failure);
    }
    const ms = performance.now() - startedAt;
    if (ms > timeoutMs) {
      await stopChild(child);
      const message = `${name} was not ready after ${timeoutMs / 1_000} seconds`;
      throw new ServerFailed(message, { output: await lastOutput(child) });
    }
    if (ms > slowMs && !isSlow) {
      isSlow = true;
      logger.info({ log: logFile }, `${name} is still starting; it may be recovering from a crash`);
    }
    await sleep(pollMs);
  }
};
