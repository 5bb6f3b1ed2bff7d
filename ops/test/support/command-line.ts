import { readConfig } from '../../config/config.js';
import { runCommandLine } from '../../tools/cli/program.js';
import type { CommandOutput } from './process.js';

/**
 * Runs a command in this process, with this environment only: a child process needs 0.5 s of CPU time. Commands that
 * read stdin or stream their output need `startLinklogCli`.
 */
export const runLinklogCli = async (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<CommandOutput> => {
  let [stdout, stderr] = ['', ''];
  const exitCode = await runCommandLine(args, {
    out: (text) => (stdout += text),
    err: (text) => (stderr += text),
    readConfig: () => readConfig(env),
  });
  return { exitCode, stdout, stderr };
};
