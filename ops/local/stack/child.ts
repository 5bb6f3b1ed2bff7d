import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { boundLogFile, openLogFile, tailOf } from '../postgres/log-file.js';
import { pidsIn, programOf, stopAll } from '../postgres/orphans.js';
import { describeExit, type Exit } from '../postgres/server.js';
import type { Logger } from '../../platform/logging.js';
import { ServerFailed } from '../postgres/errors.js';

export interface ChildOptions {
  /** As in a sentence: `Kafka`. */
  readonly name: string;
  /** Found in PATH. */
  readonly program: string;
  readonly args: readonly string[];
  /** A folder of its own: by it, a later start finds what a killed process left running. */
  readonly dir: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Its stdout and stderr; bounded. `null`: its stdout is piped to us, and its stderr is ours. */
  readonly logFile: string | null;
  readonly logger: Logger;
  /** Whether it ends with this process, however that ends; otherwise only `stop` ends it. */
  readonly tied: boolean;
}

export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly process: ChildProcess;
  readonly logFile: string | null;
  readonly exited: Promise<Exit>;
}

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
  // Its pid may be another process's later.
  void exited.then(() => watch.kill('SIGKILL'));
};

/** @throws the system's error when it cannot be started, ENOENT where it is not in PATH */
export const launch = async (options: ChildOptions): Promise<Child> => {
  const { name, program, args, dir, env, logFile, logger, tied } = options;
  const log = logFile === null ? null : await openLogFile(logFile);
  const child = spawn(program, args, {
    cwd: dir,
    ...(env && { env }),
    // Its own session, so that Ctrl-C reaches us alone and we stop it after its clients.
    detached: true,
    stdio: log === null ? ['ignore', 'pipe', 'inherit'] : ['ignore', log.fd, log.fd],
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (exitCode, signal) => {
      resolve({ exitCode, signal });
    });
  });
  try {
    await once(child, 'spawn');
  } finally {
    log?.close();
  }
  child.on('error', (error) => {
    // Only a signal that may not be sent comes here now; the wait in stopChild shows that it failed.
    logger.warn({ err: error }, `Cannot signal ${name}`);
  });
  if (child.pid === undefined) throw new Error('a spawned process has a pid');
  if (tied) tie(child.pid, exited);
  if (logFile !== null) void exited.then(boundLogFile(logFile, logger));
  return { name, pid: child.pid, process: child, logFile, exited };
};

/** The last lines that it wrote where it has a log file of its own. */
export const lastWords = async ({ logFile }: Child): Promise<string> =>
  logFile === null ? '' : tailOf(logFile);

const graceMs = 6_000;

/** SIGTERM, and SIGKILL when that does not end it in 6 s; resolves when it is gone. */
export const stopChild = async ({ process: child, exited }: Child): Promise<void> => {
  child.kill('SIGTERM');
  // One that is stopped (Ctrl-Z, a test's pause) would not hear it.
  child.kill('SIGCONT');
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await exited;
  clearTimeout(timer);
};

const pollMs = 25;
const readyWithinMs = 120_000;

/**
 * Resolves when `answers` is true.
 *
 * @throws ServerFailed with its last lines when it ends instead, or does not answer in 120 s; retryable
 * when its port was taken
 */
export const untilReady = async (child: Child, answers: () => Promise<boolean>): Promise<void> => {
  const ended: Exit[] = [];
  void child.exited.then((exit) => ended.push(exit));
  const deadline = performance.now() + readyWithinMs;
  while (!(await answers())) {
    const [exit] = ended;
    if (exit !== undefined) {
      const output = await lastWords(child);
      throw new ServerFailed(`${child.name} ended at its start (${describeExit(exit)})`, {
        output,
        retryable: /address already in use/i.test(output),
      });
    }
    if (performance.now() > deadline) {
      await stopChild(child);
      throw new ServerFailed(`${child.name} was not ready after ${readyWithinMs / 1_000} seconds`, {
        output: await lastWords(child),
      });
    }
    await sleep(pollMs);
  }
};

/**
 * Ends every process of these names that lives in this folder. The caller has the folder's lock, so whatever lives
 * there was left by a process of ours that was killed. Elsewhere than on Linux nothing is found; there
 * the server itself refuses to start on data in use.
 *
 * @throws ServerFailed when one does not even end by SIGKILL
 */
export const endOrphans = async (
  dir: string,
  programs: readonly string[],
  logger: Logger,
): Promise<void> => {
  if (process.platform !== 'linux') return;
  const find = async (): Promise<number[]> =>
    (await pidsIn(dir, null)).filter((pid) => programs.includes(programOf(pid)?.name ?? ''));
  const orphans = await find();
  if (orphans.length === 0) return;
  logger.warn(
    { pids: orphans, dir },
    `Ending the ${programs[0] ?? ''} that a killed process left running`,
  );
  const all = (pids: readonly number[]): readonly number[] => pids;
  const { survivors } = await stopAll(find, [
    { signal: 'SIGTERM', to: all, waitMs: graceMs },
    { signal: 'SIGKILL', to: all, waitMs: 2_000 },
  ]);
  if (survivors.length > 0) {
    throw new ServerFailed(
      `${programs[0] ?? ''} of ${dir} does not end (process ${survivors.join(', ')})`,
      {
        retryable: true,
      },
    );
  }
};
