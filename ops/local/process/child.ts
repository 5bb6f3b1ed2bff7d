import { spawn, type ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { deferred, settledWithin } from '../../platform/concurrency/deferred.js';
import type { Logger } from '../../platform/logging.js';
import { ServerFailed } from './errors.js';
import { boundLogFile, lastLines, openLogFile, tailOf } from './log-file.js';

/** The user that a program runs as. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** All that a program of PostgreSQL gets of an environment. We read its messages: in English. */
export const minimalEnv = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/local/bin:/usr/bin:/bin' };

interface RunOptions {
  readonly dir?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Turns a failure to start, or an early end, into an error for a person, where the cause is known. */
type Explain = (error: unknown) => unknown;

/**
 * Runs a program to its end as `account` (null: as ourselves).
 *
 * @throws the system's error when it cannot be started, for example EPERM where we may not become `account`
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
 * Runs a program to its end, for what it leaves behind.
 *
 * @throws ServerFailed or the system's error, explained, when it fails or cannot be started
 */
export const runToSuccess = async (
  account: Account | null,
  program: string,
  args: readonly string[],
  options: RunOptions & {
    /** The error's message; the program's last lines follow it. */
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
  /** As in a sentence: `Kafka`. */
  readonly name: string;
  /** A path, or a name found in PATH. */
  readonly program: string;
  readonly args: readonly string[];
  /** A folder of its own: by it, a later start finds what a killed process left running. */
  readonly dir: string;
  readonly account?: Account | null;
  readonly env?: NodeJS.ProcessEnv;
  /** The descriptor that it gets besides stdin, stdout and stderr. */
  readonly inherits?: number;
  /** Gets stdout and stderr; bounded. `null`: its stdout is piped to us, and its stderr is ours. */
  readonly logFile: string | null;
  readonly logger: Logger;
  /** Whether it ends with this process, however that ends; otherwise only `stopChild` ends it. */
  readonly tied?: boolean;
  /** How it ends; SIGKILL comes last. By default SIGTERM, and 6 s for that. */
  readonly stopSteps?: readonly { readonly signal: NodeJS.Signals; readonly waitMs: number }[];
  readonly explain?: Explain;
  /**
   * Whether it is a Node program, `args` its file and arguments, that listens where others of us do: connections
   * go to them in turn. It is in our process group, so Ctrl-C reaches it too, and it ends with us.
   */
  readonly sharesPorts?: boolean;
}

const explained = ({ explain }: ChildOptions, error: unknown): unknown => explain?.(error) ?? error;

export interface Exit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

export const describeExit = ({ exitCode, signal }: Exit): string =>
  signal === null ? `exit code ${exitCode ?? '?'}` : `signal ${signal}`;

/**
 * Kills a process when this one has ended, even by SIGKILL: a shell waits for the end of a pipe that
 * nobody but us holds.
 */
const tie = (pid: number, exited: Promise<Exit>): void => {
  const watch = spawn('/bin/sh', ['-c', 'read -r _; kill -9 "$1"', 'sh', String(pid)], {
    cwd: '/',
    // Not in our group, which may be killed as a whole.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watch.unref();
  // The pid may be another process's later.
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

/** @throws the system's error, explained, when it cannot be started: ENOENT where it is not in PATH */
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
        // Its own session, so that Ctrl-C reaches us alone and we stop it after its clients.
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
    // Only a signal that may not be sent comes here now; the waits in stopChild show that it failed.
    logger.warn({ err: error }, `cannot signal ${name}`);
  });
  if (child.pid === undefined) throw new Error('a spawned process has a pid');
  if (tied) tie(child.pid, exited);
  if (logFile !== null) void exited.then(boundLogFile(logFile, logger));
  return { ...options, pid: child.pid, process: child, exited };
};

export type Child = Awaited<ReturnType<typeof launch>>;

/** The last lines in its log file; empty where it has none. */
export const lastOutput = async ({ logFile }: Child): Promise<string> =>
  logFile === null ? '' : tailOf(logFile);

/** Sends its signals one after the other, and SIGKILL at last; resolves when it is gone. */
export const stopChild = async ({
  process: child,
  exited,
  stopSteps = [{ signal: 'SIGTERM', waitMs: 6_000 }],
}: Child): Promise<void> => {
  for (const { signal, waitMs } of stopSteps) {
    child.kill(signal);
    // A paused process (Ctrl-Z, a test) would not hear the signal.
    child.kill('SIGCONT');
    if (await settledWithin(exited, waitMs)) return;
  }
  child.kill('SIGKILL');
  await exited;
};

const pollMs = 25;
const slowMs = 5_000;
/** The port was taken; or children of a killed postmaster live on, and are about to notice it. */
const passingCause = /address already in use|pre-existing shared memory block/i;

/**
 * Resolves when `answers` is true.
 *
 * @throws ServerFailed, explained, with its last lines when it ends instead, or does not answer in time;
 * retryable when its port was taken
 */
export const untilReady = async (
  child: Child,
  answers: () => Promise<boolean>,
  withinMs = 120_000,
): Promise<void> => {
  const { name, logger, logFile } = child;
  const ended: Exit[] = [];
  void child.exited.then((exit) => ended.push(exit));
  const begin = performance.now();
  let isSlow = false;
  while (!(await answers())) {
    const [exit] = ended;
    if (exit !== undefined) {
      const output = await lastOutput(child);
      const failure = new ServerFailed(`${name} ended at its start (${describeExit(exit)})`, {
        output,
        exitCode: exit.exitCode,
        retryable: passingCause.test(output),
      });
      throw await explained(child, failure);
    }
    const ms = performance.now() - begin;
    if (ms > withinMs) {
      await stopChild(child);
      const message = `${name} was not ready after ${withinMs / 1_000} seconds`;
      throw new ServerFailed(message, { output: await lastOutput(child) });
    }
    if (ms > slowMs && !isSlow) {
      isSlow = true;
      logger.info({ log: logFile }, `${name} is still starting; it may be recovering from a crash`);
    }
    await sleep(pollMs);
  }
};
