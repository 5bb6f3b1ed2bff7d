import { CommanderError } from 'commander';
import { ConfigError, configExitCode } from '../../platform/config/config.js';

const kinds = {
  /** The command line is wrong. */
  USAGE: { exitCode: 2, retryable: false },
  /** What keeps the token or the addresses belongs to another user. */
  NO_ACCESS: { exitCode: 1, retryable: false },
  /** Nobody listens where the service should be. */
  NO_SERVICE: { exitCode: 1, retryable: true },
  /** The service, or what answers in its place, broke off or said something else than expected. */
  BAD_ANSWER: { exitCode: 1, retryable: false },
  /** The service said no. */
  REFUSED: { exitCode: 1, retryable: false },
  NO_DATABASE: { exitCode: 1, retryable: true },
  /** A person ended it: 128 and the number of SIGINT, as shells have it. */
  INTERRUPTED: { exitCode: 130, retryable: true },
} as const;

/** Why a command failed, in one line for the person who typed it. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  readonly retryable: boolean;

  constructor(
    readonly code: keyof typeof kinds,
    message: string,
    options?: { readonly cause: unknown },
  ) {
    super(message, options);
    ({ exitCode: this.exitCode, retryable: this.retryable } = kinds[code]);
  }
}

/** Why a command ends, for a person and for a script. */
export interface Failure {
  /** `null` when all was said already, as after `--help`. */
  readonly line: string | null;
  readonly exitCode: number;
}

const usageExitCode = 2;

/** Commander's words in our form: one line, and where to read on if it has no better idea. */
const usageLine = (message: string): string => {
  const [first = '', guess] = message.replace(/^error: /, '').split('\n');
  if (guess !== undefined) return `${first} ${guess.replace('(Did', '(did')}`;
  return first.startsWith('unknown') ? `${first}; see "linklog --help"` : first;
};

/** The innermost message: a refused connection to both of localhost's addresses has none itself. */
export const messageOf = (error: unknown): string => {
  if (error instanceof AggregateError) return messageOf(error.errors[0]);
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\s*\n\s*/g, ' ').trim();
};

/** What to tell of an error, and the exit code that goes with it. */
export const failureOf = (error: unknown): Failure => {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return { line: null, exitCode: 0 };
    // A group without its command: commander has shown the help.
    if (error.code === 'commander.help') return { line: null, exitCode: usageExitCode };
    return { line: usageLine(error.message), exitCode: usageExitCode };
  }
  const line = messageOf(error);
  if (error instanceof CliError) return { line, exitCode: error.exitCode };
  return { line, exitCode: error instanceof ConfigError ? configExitCode : 1 };
};
