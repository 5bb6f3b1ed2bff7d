import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { PlanName } from '../../schemas/plans.js';
import { postgresAccount } from '../embedded/account.js';
import { layoutOf } from '../embedded/layout.js';
import { postgresPids } from '../embedded/orphans.js';
import { ask } from './http.js';

export const mainFile = fileURLToPath(new URL('../main.js', import.meta.url));

/** A process start on a slow machine with a new PostgreSQL cluster takes some seconds. */
const readyWithinMs = 60_000;
const stopWithinMs = 10_000;

const hermetic = { API_PORT: '0', EDGE_PORT: '0', ADMIN_PORT: '0', LOG_LEVEL: 'warn' };

/** What a process said and how it ended. */
export interface Ended {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Milliseconds from its start to its end. */
  readonly ms: number;
}

export interface IssuedKey {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly plan: PlanName;
  readonly account: string;
  readonly active: boolean;
  readonly createdAt: string;
}

/** The real product, in a process group of its own. */
export interface Product {
  /** Addresses such as `http://127.0.0.1:40123`. */
  readonly api: string;
  readonly edge: string;
  readonly admin: string;
  /** `null` where DATA_DIR had keys already. */
  readonly firstKey: string | null;
  readonly adminToken: string;
  readonly pid: number;
  readonly dataDir: string;
  /** The ready line as it came. */
  readonly ready: unknown;
  readonly stdout: () => string;
  readonly stderr: () => string;
  createKey(key: {
    readonly plan: PlanName;
    readonly account?: string;
    readonly name?: string;
  }): Promise<IssuedKey>;
  /** Resolves when it ended, in whatever way. */
  readonly ended: Promise<Ended>;
  /** Resident memory of the node process, in MiB. */
  rssMiB(): Promise<number>;
  /** Asks it to end. @throws when it does not end with exit code 0 within 10 s. */
  stop(): Promise<Ended>;
  /** `kill -9` of node and of every PostgreSQL process of it, as a crash of the machine would. */
  killTree(): Promise<void>;
  /** Ends what still lives, and removes DATA_DIR unless it was given. */
  cleanup(): Promise<void>;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

const alive = new Set<ChildProcess>();
// Left behind by a run that was broken off, it would live for ever: it is not in our process group.
process.once('exit', () => {
  for (const child of alive) child.kill('SIGTERM');
});

/** Starts the program with this environment and no other, so that the caller's changes nothing. */
export const launch = (
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [mainFile],
): Running => {
  const began = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: '/',
    detached: true,
    env: { ...hermetic, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  alive.add(child);
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  }
  const ended = once(child, 'close').then(([exitCode, signal]): Ended => {
    alive.delete(child);
    const ms = performance.now() - began;
    const how = { exitCode: exitCode as number | null, signal: signal as NodeJS.Signals | null };
    return { ...how, ...said, ms };
  });
  return { child, ended, stdout: () => said.stdout, stderr: () => said.stderr };
};

const tail = (text: string): string => text.trimEnd().split('\n').slice(-15).join('\n');

export const within = async <Value>(
  ms: number,
  what: string,
  promise: Promise<Value>,
): Promise<Value> => {
  const late = new AbortController();
  const tooLate = sleep(ms, null, { signal: late.signal }).then(() => {
    throw new Error(`${what} within ${ms} ms`);
  });
  // Cut short when the promise came first: then nobody waits for it.
  tooLate.catch(() => undefined);
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    late.abort();
  }
};

/** Starts the program where it is expected to end by itself, and waits for that. */
export const runToEnd = async (
  env: Readonly<Record<string, string>>,
  withinMs = 30_000,
): Promise<Ended> => {
  const { child, ended } = launch(env);
  try {
    return await within(withinMs, 'It did not end', ended);
  } catch (error) {
    child.kill('SIGTERM');
    throw error;
  }
};

export const temporaryDir = (): Promise<string> => mkdtemp(path.join(tmpdir(), 'linklog-e2e-'));

/** Every PostgreSQL process of a data directory. */
export const postgresOf = async (dataDir: string): Promise<number[]> => {
  const layout = layoutOf(dataDir);
  return postgresPids(layout, await postgresAccount(layout));
};

const killAll = async (dataDir: string): Promise<void> => {
  // Looked for until there is none: the postmaster may have had a child in the making.
  for (;;) {
    const pids = await postgresOf(dataDir);
    if (pids.length === 0) return;
    for (const pid of pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
    await sleep(20);
  }
};

export const readyLine = async ({ child, ended, stdout, stderr }: Running): Promise<unknown> => {
  const seen = new Promise<unknown>((resolve) => {
    const look = (): void => {
      const line = /^\{"event":"ready".*\}(?=\n)/m.exec(stdout());
      if (line) resolve(JSON.parse(line[0]) as unknown);
    };
    child.stdout?.on('data', look);
    look();
  });
  const failed = ended.then(({ exitCode, signal }) => {
    throw new Error(`It ended at its start (${signal ?? exitCode ?? '?'}):\n${tail(stderr())}`);
  });
  // The product ends one day, and after its ready line that is no failure to start.
  failed.catch(() => undefined);
  return within(readyWithinMs, 'It was not ready', Promise.race([seen, failed]));
};

const text = (ready: unknown, name: string): string => {
  const value = (ready as Record<string, unknown>)[name];
  if (typeof value !== 'string') throw new Error(`The ready line has no ${name}`);
  return value;
};

/** Makes an API key, as an operator. */
export const issueKey = async (
  { admin, adminToken }: Pick<Product, 'admin' | 'adminToken'>,
  { plan, account, name = `a ${plan} key` }: Parameters<Product['createKey']>[0],
): Promise<IssuedKey> => {
  const answer = await ask(`${admin}/admin/keys`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${adminToken}` },
    body: { name, plan, ...(account !== undefined && { account }) },
  });
  if (answer.status !== 201) throw new Error(`No key: ${answer.status} ${answer.text}`);
  return answer.json() as IssuedKey;
};

/**
 * Starts the product on free ports and waits for its ready line.
 *
 * @throws with the last lines of its stderr when it ends instead
 */
export const startProduct = async (
  options: { readonly env?: Readonly<Record<string, string>>; readonly dataDir?: string } = {},
): Promise<Product> => {
  const dataDir = options.dataDir ?? (await temporaryDir());
  const running = launch({ DATA_DIR: dataDir, ...options.env });
  const { child, ended } = running;

  const killTree = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
    await killAll(dataDir);
  };
  const cleanup = async (): Promise<void> => {
    if (alive.has(child)) await killTree();
    if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
  };

  let ready: unknown;
  try {
    ready = await readyLine(running);
  } catch (error) {
    await cleanup();
    throw error;
  }
  const { pid } = child;
  if (pid === undefined) throw new Error('A spawned process has a pid');
  const admin = text(ready, 'admin');
  const adminToken =
    options.env?.['ADMIN_TOKEN'] ??
    (await readFile(path.join(dataDir, 'admin-token'), 'utf8')).trim();

  return {
    api: text(ready, 'api'),
    edge: text(ready, 'edge'),
    admin,
    firstKey: (ready as { firstKey?: string }).firstKey ?? null,
    adminToken,
    pid,
    dataDir,
    ready,
    ended,
    stdout: running.stdout,
    stderr: running.stderr,
    createKey: (key) => issueKey({ admin, adminToken }, key),
    async rssMiB() {
      const status = await readFile(`/proc/${pid}/status`, 'utf8');
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024;
    },
    async stop() {
      child.kill('SIGTERM');
      const end = await within(stopWithinMs, 'It did not end', ended);
      if (end.exitCode !== 0) {
        throw new Error(`It ended with ${end.signal ?? end.exitCode ?? '?'}:\n${tail(end.stderr)}`);
      }
      const left = await postgresOf(dataDir);
      if (left.length > 0) throw new Error(`It left PostgreSQL running: ${left.join(', ')}`);
      return end;
    },
    killTree,
    cleanup,
  };
};
