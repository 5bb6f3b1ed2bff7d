import type { Config } from '../../platform/config/config.js';
import type { AdminClient } from './client.js';
import type { Answer } from './output.js';

/** What a command needs of the command line. */
export interface CommandContext {
  readonly readConfig: () => Config;
  /** A client of the running service. */
  readonly connect: () => AdminClient;
  /** Prints the answer as `--json` asks, and sets the exit code. */
  readonly print: (answer: Answer) => void;
}

/** The examples at the end of a command's help, each without its `linklog`. */
export const examples = (...lines: readonly string[]): string =>
  `\nExample${lines.length === 1 ? '' : 's'}:\n${lines.map((line) => `  $ linklog ${line}`).join('\n')}`;
