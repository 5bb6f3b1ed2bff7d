import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventually, within } from './waiting.js';

export const mainFile = fileURLToPath(new URL('../../main.js', import.meta.url));
const cliFile = fileURLToPath(new URL('../../tools/cli/main.js', import.meta.url));

/** A process start on a slow machine with a new PostgreSQL cluster takes some seconds. */
const readyWithinMs = 120_000;

const hermetic = { API_PORT: '0', EDGE_PORT: '0', ADMIN_PORT: '0', LOG_LEVEL: 'warn' };

export const temporaryDir = (): Promise<string> => mkdtemp(path.join(tmpdir(), 'linklog-e2e-'));

export interface EndedProcess {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<EndedProcess>;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

/** Starts a Node program with this environment and no other, and `input` on its stdin. */
const start = (
  program: readonly string[],
  env: Readonly<Record<string, string>>,
  {
    detached,
    input = '',
    runner = [],
  }: {
    readonly detached: boolean;
    readonly input?: string;
    readonly runner?: readonly string[];
  },
): RunningProcess => {
  const [command = '', ...args] = [...runner, process.execPath, ...program];
  const child = spawn(command, args, {
    cwd: '/',
    detached,
    env: { ...env },
    stdio: 'pipe',
  });
  // A program that does not read its stdin breaks the pipe at its end.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  const ended = once(child, 'close').then(([exitCode, signal]): EndedProcess => {
    const how = { exitCode: exitCode as number | null, signal: signal as NodeJS.Signals | null };
    return { ...how, ...output };
  });
  return { child, ended, stdout: () => output.stdout, stderr: () => output.stderr };
};

export const isAlive = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode === null && signalCode === null;

const products = new Set<ChildProcess>();
// A product is in a process group of its own, so that an interrupted test run would leave it running.
process.once('exit', () => {
  for (const child of products) child.kill('SIGTERM');
});

/**
 * Starts the product, or another program of its kind, on free ports and in a process group of its own.
 *
 * @param runner the command that runs it, such as `inContainer`
 */
export const launch = (
  env: Readonly<Record<string, string>>,
  program: readonly string[] = [mainFile],
  runner: readonly string[] = [],
): RunningProcess => {
  const running = start(program, { ...hermetic, ...env }, { detached: true, runner });
  products.add(running.child);
  running.child.once('close', () => products.delete(running.child));
  return running;
};

export const lastLines = (text: string): string => text.trimEnd().split('\n').slice(-15).join('\n');

/** Starts a product that is expected to end by itself, and waits for its end. */
export const runToEnd = async (
  env: Readonly<Record<string, string>>,
  withinMs = 30_000,
  runner: readonly string[] = [],
): Promise<EndedProcess> => {
  const { child, ended } = launch(env, [mainFile], runner);
  try {
    return await within(withinMs, 'The process did not end', ended);
  } catch (error) {
    // `unshare` ignores SIGTERM while it waits for its child.
    child.kill(runner.length === 0 ? 'SIGTERM' : 'SIGKILL');
    throw error;
  }
};

/** The parsed ready line of a product. @throws with its last lines of stderr when it ends instead */
export const readyLine = async ({ child, stdout, stderr }: RunningProcess): Promise<unknown> => {
  const find = (): string | undefined => /^\{"event":"ready".*\}(?=\n)/m.exec(stdout())?.[0];
  const isReadyOrEnded = (): boolean => find() !== undefined || !isAlive(child);
  await eventually('the product is ready', isReadyOrEnded, readyWithinMs);
  const line = find();
  if (line !== undefined) return JSON.parse(line) as unknown;
  const how = child.signalCode ?? child.exitCode ?? '?';
  throw new Error(`The product ended at its start (${how}):\n${lastLines(stderr())}`);
};

/** What a command of the command line said, and its exit code. */
export interface CommandOutput {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCommand {
  readonly child: ChildProcess;
  readonly ended: Promise<CommandOutput>;
}

/** Starts the real command line, ours or another build's, with this environment and no other. */
export const startLinklogCli = (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  program = cliFile,
  input = '',
): RunningCommand => {
  const { child, ended } = start([program, ...args], env, { detached: false, input });
  const said = ended.then(({ exitCode, stdout, stderr }) => ({ exitCode, stdout, stderr }));
  return { child, ended: said };
};

/** Stops a process and its children, PostgreSQL's backends for example; returns how to let them go on. */
export const stopProcess = async (pid: number): Promise<() => void> => {
  const stopped: number[] = [];
  const stop = (one: number): void => {
    process.kill(one, 'SIGSTOP');
    stopped.push(one);
  };
  // The parent first: it starts no more children.
  stop(pid);
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  children.split(' ').filter(Boolean).map(Number).forEach(stop);
  return () => {
    for (const one of stopped) process.kill(one, 'SIGCONT');
  };
};
