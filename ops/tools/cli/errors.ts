import { CommanderError } from 'commander';
import { ConfigError, configExitCode, hasCode, messageOf } from '../../platform/errors.js';
import { linklogCommand } from '../../platform/process/own-command.js';
import type { OwnCode } from '../../platform/error-codes.js';
import { FileExists } from '../../platform/files/new-file.js';

export { messageOf };

const exitCodes = {
  /** The command line is wrong. */
  USAGE: 2,
  /** The data directory belongs to another user. */
  NO_ACCESS: 1,
  /** No service listens at the address. */
  NO_SERVICE: 1,
  /** The connection failed, or the response is not one of this version of Linklog. */
  BAD_RESPONSE: 1,
  /** The service responded with a 5xx status. */
  UNAVAILABLE: 1,
  /** The service, or the command itself, refused. */
  REFUSED: 1,
  NO_DATABASE: 1,
  /** Ended by SIGINT: 128 + the number of the signal, as in shells. */
  INTERRUPTED: 130,
} as const satisfies Partial<Record<OwnCode, number>>;

export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;

  constructor(
    readonly code: keyof typeof exitCodes,
    message: string,
    options?: { readonly cause: unknown },
  ) {
    super(message, options);
    this.exitCode = exitCodes[code];
  }
}

/** Whether the service may respond later, such as after a restart. */
export const isTemporary = (error: unknown): boolean =>
  error instanceof CliError && ['NO_SERVICE', 'BAD_RESPONSE', 'UNAVAILABLE'].includes(error.code);

/** Formats commander's message as one line, with a hint at the help if it has no suggestion. */
const usageLine = (message: string): string => {
  const [first = '', suggestion] = message.replace(/^error: /, '').split('\n');
  if (suggestion !== undefined) return `${first} ${suggestion.replace('(Did', '(did')}`;
  return first.startsWith('unknown') ? `${first}; see "${linklogCommand()} --help"` : first;
};

/** Replaces an error about an unreadable data directory by one with a remedy. */
export const explainDataDir = (cause: unknown, dataDir: string, variable: string): unknown => {
  if (hasCode(cause, 'EACCES', 'EPERM')) {
    const message =
      `DATA_DIR ${dataDir} belongs to another user: run this command as the user of the service, ` +
      `or set ${variable}`;
    return new CliError('NO_ACCESS', message, { cause });
  }
  if (hasCode(cause, 'ENOTDIR')) {
    return new ConfigError(`DATA_DIR ${dataDir} is not a directory`, { cause });
  }
  return cause;
};

/** Returns the exit code and the line to print; `null` if commander has printed all (as after `--help`). */
export const failureOf = (
  error: unknown,
): { readonly line: string | null; readonly exitCode: number } => {
  if (error instanceof CommanderError) {
    const exitCode = error.exitCode === 0 ? 0 : exitCodes.USAGE;
    // For a group without its command, commander has shown the help.
    const isPrinted = exitCode === 0 || error.code === 'commander.help';
    return { line: isPrinted ? null : usageLine(error.message), exitCode };
  }
  const line = messageOf(error);
  if (error instanceof CliError) return { line, exitCode: error.exitCode };
  if (error instanceof FileExists) {
    return { line: `${line}; choose another name, or replace it with --force`, exitCode: 1 };
  }
  return { line, exitCode: error instanceof ConfigError ? configExitCode : 1 };
};
