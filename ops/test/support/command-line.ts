import { readConfig } from '../../config/config.js';
import { runCommandLine } from '../../tools/cli/program.js';
import type { CommandOutput } from './process.js';

/**
 * Runs a command line in this process, with this environment and no other: for tables of many, since a process of
 * its own takes half a second of CPU. Not for commands that read stdin or write their output in pieces:
 * `startLinklogCli` runs those.
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
