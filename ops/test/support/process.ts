import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { quoted } from '../../platform/process/own-command.js';
import { nullOnThrow } from '../../platform/errors.js';
import { eventually, within } from './waiting.js';

export const mainFile = fileURLToPath(new URL('../../main.js', import.meta.url));
const cliFile = fileURLToPath(new URL('../../tools/cli/main.js', import.meta.url));

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

/** Starts a program, by default Node, with this environment only, and `input` on its stdin. */
const start = (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { detached = false, input = '', program = process.execPath } = {},
): RunningProcess => {
  const child = spawn(program, args, {
    cwd: '/',
    detached,
    env: { ...env },
    stdio: 'pipe',
  });
  // EPIPE: the program ended without reading stdin.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  const ended = once(child, 'close').then(([exitCode, signal]): EndedProcess => {
    return {
      exitCode: exitCode as number | null,
      signal: signal as NodeJS.Signals | null,
      ...output,
    };
  });
  return { child, ended, stdout: () => output.stdout, stderr: () => output.stderr };
};

export const isAlive = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode === null && signalCode === null;

const products = new Set<ChildProcess>();
// A signal to the test run does not reach products, which have other process groups.
process.once('exit', () => {
  for (const child of products) child.kill('SIGTERM');
});

/**
 * Starts the product, or a similar program, on free ports and in a new process group.
 *
 * @param runner a command prefix, such as that of a sandbox
 */
export const launch = (
  env: Readonly<Record<string, string>>,
  program: readonly string[] = [mainFile],
  runner: readonly string[] = [],
): RunningProcess => {
  const [command = '', ...args] = [...runner, process.execPath, ...program];
  const running = start(args, { ...hermetic, ...env }, { detached: true, program: command });
  products.add(running.child);
  running.child.once('close', () => products.delete(running.child));
  return running;
};

export const lastLines = (text: string): string => text.trimEnd().split('\n').slice(-15).join('\n');

/** Starts a product that should exit, and waits for its end. */
export const runToEnd = async (
  env: Readonly<Record<string, string>>,
  withinMs = 30_000,
): Promise<EndedProcess> => {
  const { child, ended } = launch(env);
  try {
    return await within(withinMs, 'the process did not exit', ended);
  } catch (error) {
    child.kill('SIGTERM');
    throw error;
  }
};

/** The parsed ready line of a product. @throws with the last lines of stderr if it exits instead */
export const readyLine = async ({ child, stdout, stderr }: RunningProcess): Promise<unknown> => {
  const find = (): string | undefined => /^\{"event":"ready".*\}(?=\n)/m.exec(stdout())?.[0];
  const isReadyOrEnded = (): boolean => find() !== undefined || !isAlive(child);
  await eventually('the product is ready', isReadyOrEnded, readyWithinMs);
  const line = find();
  if (line !== undefined) return JSON.parse(line) as unknown;
  const status = child.signalCode ?? child.exitCode ?? '?';
  throw new Error(`the product exited before it was ready (${status}):\n${lastLines(stderr())}`);
};

export interface CommandOutput {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCommand {
  readonly child: ChildProcess;
  readonly ended: Promise<CommandOutput>;
  readonly stdout: () => string;
  readonly stderr: () => string;
}

/** A message of the command line that names commands, such as `see "linklog keys list"`, as it is printed. */
export const asTyped = (message: string, command = `node ${quoted(cliFile)}`): string =>
  message.replaceAll('"linklog ', `"${command} `);

/** Starts the command line of this or another build, with this environment only. */
export const startLinklogCli = (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  program = cliFile,
  input = '',
): RunningCommand => {
  const running = start([program, ...args], env, { input });
  const { ended } = running;
  const output = ended.then(({ exitCode, stdout, stderr }) => ({ exitCode, stdout, stderr }));
  return { ...running, ended: output };
};

/** Runs the command line on a pseudoterminal with typed input. @returns what the terminal shows, with LF line ends */
export const runOnTerminal = async (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  input: string,
): Promise<{ readonly exitCode: number | null; readonly shown: string }> => {
  const command = [process.execPath, cliFile, ...args].map(quoted).join(' ');
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    cwd: '/',
    env: { ...env, SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(input);
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (shown += part));
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { exitCode, shown: shown.replaceAll('\r\n', '\n') };
};

/** Runs the command line with a reader of its output that exits without reading. */
export const runIntoClosedPipe = async (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<CommandOutput> => {
  const command = [process.execPath, cliFile, ...args].map(quoted).join(' ');
  const code = `${command} | true; exit "\${PIPESTATUS[0]}"`;
  const running = start(['--norc', '-c', code], env, { program: 'bash' });
  const { exitCode, stdout, stderr } = await running.ended;
  return { exitCode, stdout, stderr };
};

/** Stops (SIGSTOP) a process and its children, such as backends of PostgreSQL. @returns a function that continues them */
export const stopProcess = async (pid: number): Promise<() => void> => {
  const stopped: number[] = [];
  const stop = (target: number): void => {
    process.kill(target, 'SIGSTOP');
    stopped.push(target);
  };
  // The parent first, so that it starts no more children.
  stop(pid);
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  children.split(' ').filter(Boolean).map(Number).forEach(stop);
  return () => {
    // A killed process may have been reaped.
    for (const target of stopped) nullOnThrow(() => process.kill(target, 'SIGCONT'), 'ESRCH');
  };
};
