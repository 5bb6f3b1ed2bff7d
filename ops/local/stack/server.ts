import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PostgresExit } from '../postgres/index.js';
import { describeExit } from '../postgres/server.js';
import { lastWords, stopChild, type Child } from './child.js';
import { ServerFailed } from '../postgres/errors.js';

/** `died` is everything but `stop` and `restart`, a signal by `kill` included. */
export type ServerExit = PostgresExit;

/** A server that is our child; after a `restart` it is another process with the same data and address. */
export interface Server {
  readonly pid: number;
  readonly process: ChildProcess;
  /** Resolves once the present process has ended; never rejects. */
  readonly exited: Promise<ServerExit>;
  /** Resolves when it is gone; for good, save for `restart`. Idempotent. */
  stop(): Promise<void>;
  /** Sends a signal, and no more: SIGSTOP pauses it. */
  kill(signal: NodeJS.Signals): void;
  /** Ends what still runs, and resolves when it answers again. @throws ServerFailed */
  restart(): Promise<void>;
}

interface Run {
  readonly child: Child;
  readonly exited: Promise<ServerExit>;
  /** From now on its end is no accident. */
  expectEnd(): void;
}

const runOf = (child: Child): Run => {
  let isExpected = false;
  return {
    child,
    exited: child.exited.then(async (exit) => {
      if (isExpected) return { status: 'stopped' };
      const output = await lastWords(child).catch((error: unknown) => `(no log: ${String(error)})`);
      return { status: 'died', reason: describeExit(exit), output };
    }),
    expectEnd() {
      isExpected = true;
    },
  };
};

const attempts = 20;
const retryMs = 250;

/** Starts a server; `begin` launches a process of it, `ready` waits until that one answers. */
export const startServer = async (options: {
  readonly begin: () => Promise<Child>;
  readonly ready: (child: Child) => Promise<void>;
  /** Whether another begin may succeed where this one found its port taken. */
  readonly mayRetry: () => boolean;
}): Promise<Server> => {
  const { begin, ready, mayRetry } = options;
  let run: Run | null = null;
  let isStopped = false;

  const current = (): Run => {
    if (run === null) throw new Error('a server that was started has a process');
    return run;
  };
  // Read by a call: it may change while something is awaited.
  const wasStopped = (): boolean => isStopped;
  const end = async (): Promise<void> => {
    if (run === null) return;
    run.expectEnd();
    await stopChild(run.child);
  };
  const start = async (): Promise<void> => {
    for (let attempt = 1; ; attempt += 1) {
      if (wasStopped()) throw new ServerFailed('It was stopped at its start', {});
      const begun = (run = runOf(await begin()));
      if (wasStopped()) await end();
      try {
        await ready(begun.child);
        return;
      } catch (error) {
        // Its port is another's now; or its own of before, until the kernel has let it go.
        const isTaken = error instanceof ServerFailed && error.retryable;
        if (!isTaken || !mayRetry() || attempt === attempts || wasStopped()) throw error;
      }
      await sleep(retryMs);
    }
  };
  let starting = start();
  await starting;

  return {
    get pid() {
      return current().child.pid;
    },
    get process() {
      return current().child.process;
    },
    get exited() {
      return current().exited;
    },
    async stop() {
      isStopped = true;
      await end();
      // One that is being restarted may have a new process by now; how that went, its caller hears.
      await Promise.allSettled([starting]);
    },
    kill(signal) {
      current().child.process.kill(signal);
    },
    async restart() {
      isStopped = false;
      starting = end().then(start);
      await starting;
    },
  };
};
