import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import type { Account } from './account.js';

/** All that a program of PostgreSQL gets of an environment; messages in English, for us to read. */
export const minimalEnv = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/local/bin:/usr/bin:/bin' };

export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program to its end as `account` (null: as ourselves).
 *
 * @throws the system's error when it cannot be started, for example EPERM where we may not become `account`
 */
export const run = async (
  account: Account | null,
  program: string,
  args: readonly string[],
  cwd = '/',
): Promise<Ended> => {
  const child = spawn(program, args, {
    ...account,
    cwd,
    env: minimalEnv,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [[exitCode], stdout, stderr] = await Promise.all([
    once(child, 'close') as Promise<[number | null]>,
    text(child.stdout),
    text(child.stderr),
  ]);
  return { exitCode, stdout, stderr };
};

export const lastLines = (output: string, count = 15): string =>
  output.trimEnd().split('\n').slice(-count).join('\n');
