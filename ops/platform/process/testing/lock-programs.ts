import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

const lockModule = new URL('../process-lock.js', import.meta.url).href;

/**
 * Starts a program of Node that has `acquireLock` and its arguments `args` in scope.
 *
 * @param runner a command that runs it, such as the start of a container
 */
export const startProgram = (
  body: string,
  args: readonly string[],
  runner: readonly string[] = [],
): ChildProcess => {
  const code = `import { acquireLock } from ${JSON.stringify(lockModule)};
    const args = process.argv.slice(1);
    ${body}`;
  const node = [process.execPath, '--input-type=module', '-e', code, ...args];
  const [command = '', ...others] = [...runner, ...node];
  return spawn(command, others, { stdio: ['pipe', 'pipe', 'inherit'] });
};

export const firstOutput = async ({ stdout }: ChildProcess): Promise<string> => {
  if (stdout === null) throw new Error('spawned without a pipe');
  const [chunk] = (await once(stdout, 'data')) as [Buffer];
  return chunk.toString();
};

/** Starts a process that holds the lock on a folder until it ends. */
export const startHolder = async (
  dir: string,
  runner?: readonly string[],
): Promise<ChildProcess> => {
  const body = `await acquireLock(args[0]); console.log('held'); setInterval(() => {}, 1_000);`;
  const child = startProgram(body, [dir], runner);
  await firstOutput(child);
  return child;
};

export const end = async (
  child: ChildProcess,
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
};
