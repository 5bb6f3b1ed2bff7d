import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import type { Account } from './account.js';
import type { Binaries } from './binaries.js';
import { ServerFailed } from './errors.js';
import { explainExit, explainSpawnError } from './explain.js';
import { connectionUrl, type Layout } from './layout.js';
import { sizeOf, tailOf, type LogFile } from './log-file.js';
import { readPostmasterPid } from './postmaster-pid.js';
import { minimalEnv } from './run.js';
import { postgresArguments } from './settings.js';

export interface Server {
  readonly pid: number;
  readonly port: number;
  readonly process: ChildProcess;
  readonly exited: Promise<Exit>;
}

export interface Exit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface Start {
  readonly layout: Layout;
  readonly account: Account | null;
  readonly binaries: Binaries;
  readonly password: string;
  readonly log: LogFile;
  readonly logger: Logger;
  /** A port that is free now; by the time PostgreSQL binds it, it may not be. */
  readonly nextPort: () => Promise<number>;
}

const pollMs = 20;
/** Recovery after a crash replays at most 1 GB of log (max_wal_size), seconds on any disk. */
const readyWithinMs = 180_000;
const sayAfterMs = 5_000;
const attempts = 10;

const launch = async (
  { layout, account, binaries, log, logger }: Start,
  port: number,
): Promise<Server> => {
  const child = spawn(binaries.postgres, postgresArguments(layout.cluster, port), {
    ...account,
    cwd: layout.cluster,
    env: minimalEnv,
    // Its own session, so that Ctrl-C reaches us alone and we stop it after our last statement.
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (exitCode, signal) => {
      resolve({ exitCode, signal });
    });
  });
  try {
    await once(child, 'spawn');
  } catch (error) {
    throw await explainSpawnError(binaries.postgres, error);
  }
  child.on('error', (error) => {
    // Only a signal that may not be sent comes here now; the waits in stopServer show that it failed.
    logger.warn({ err: error }, 'Cannot signal PostgreSQL');
  });
  if (child.pid === undefined) throw new Error('a spawned process has a pid');
  return { pid: child.pid, port, process: child, exited };
};

const answers = async (port: number, password: string): Promise<boolean> => {
  const client = new pg.Client({
    connectionString: connectionUrl(port, password),
    connectionTimeoutMillis: 2_000,
  });
  // Also what arrives after a failed connect must find a listener, or it would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    // Whatever it is, it is tried again until the deadline, and an end of the server is seen as such.
    return false;
  } finally {
    await client.end();
  }
};

/**
 * Resolves when it answers, and with its exit when it has ended before. A password is offered only when
 * PostgreSQL itself says that this port is its own: another process may have taken it meanwhile.
 */
const readiness = async (server: Server, start: Start): Promise<Exit | 'ready' | 'late'> => {
  const begin = performance.now();
  const ended: Exit[] = [];
  void server.exited.then((exit) => ended.push(exit));
  let said = false;
  for (;;) {
    if (ended[0] !== undefined) return ended[0];
    const recorded = await readPostmasterPid(start.layout);
    if (recorded?.pid === server.pid && recorded.isReady) {
      if (await answers(server.port, start.password)) return 'ready';
    }
    const ms = performance.now() - begin;
    if (ms > readyWithinMs) return 'late';
    if (ms > sayAfterMs && !said) {
      said = true;
      start.logger.info({ log: start.log.path }, 'PostgreSQL is recovering from a crash');
    }
    await sleep(pollMs);
  }
};

/** How soon another try may succeed, in milliseconds, judging by what PostgreSQL said; null: it would not. */
const retryAfterMs = (output: string): number | null => {
  if (/could not (bind|create any TCP\/IP sockets)/.test(output)) return 0;
  // Children of a postmaster that was killed are about to notice it (seen where there is no /proc).
  if (output.includes('pre-existing shared memory block')) return 500;
  return null;
};

/**
 * Starts PostgreSQL on a free port of 127.0.0.1 and waits until it answers.
 *
 * @throws ServerFailed with its last lines when it ends instead, or is not ready in 180 s
 */
export const startServer = async (start: Start): Promise<Server> => {
  for (let attempt = 1; ; attempt += 1) {
    const logBegin = await sizeOf(start.log.path);
    const server = await launch(start, await start.nextPort());
    const outcome = await readiness(server, start);
    if (outcome === 'ready') return server;
    if (outcome === 'late') {
      await stopServer(server);
      throw new ServerFailed(`PostgreSQL was not ready after ${readyWithinMs / 1_000} seconds`, {
        output: await tailOf(start.log.path, logBegin),
        retryable: true,
      });
    }
    const output = await tailOf(start.log.path, logBegin);
    const waitMs = attempt < attempts ? retryAfterMs(output) : null;
    if (waitMs === null) {
      throw (
        explainExit(outcome.exitCode, output) ??
        new ServerFailed(`PostgreSQL ended at its start (${describeExit(outcome)})`, {
          output,
        })
      );
    }
    await sleep(waitMs);
  }
};

export const describeExit = ({ exitCode, signal }: Exit): string =>
  signal === null ? `exit code ${exitCode ?? '?'}` : `signal ${signal}`;

const fastMs = 5_000;
const immediateMs = 3_000;

/** "Fast" shutdown, then "immediate" (which costs a recovery at the next start); resolves when it is gone. */
export const stopServer = async ({ process: child, exited }: Server): Promise<void> => {
  const isGone = async (signal: NodeJS.Signals, waitMs: number): Promise<boolean> => {
    child.kill(signal);
    const abort = new AbortController();
    const late = sleep(waitMs, false, { signal: abort.signal }).catch(() => false);
    const gone = await Promise.race([exited.then(() => true), late]);
    abort.abort();
    return gone;
  };
  if (await isGone('SIGINT', fastMs)) return;
  if (await isGone('SIGQUIT', immediateMs)) return;
  child.kill('SIGKILL');
  await exited;
};
