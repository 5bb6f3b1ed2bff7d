import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const mainFile = fileURLToPath(new URL('../../tools/cli/main.js', import.meta.url));

export interface Said {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Said>;
}

/** Starts the real command line with this environment and no other. */
export const startLinklogCli = (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Running => {
  const child = spawn(process.execPath, [mainFile, ...args], {
    cwd: '/',
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
    });
  }
  const ended = once(child, 'close').then(([exitCode]) => ({
    exitCode: exitCode as number | null,
    ...said,
  }));
  return { child, ended };
};
