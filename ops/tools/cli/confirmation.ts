import { createInterface } from 'node:readline/promises';
import { CliError } from './errors.js';

export interface Terminal {
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

const thisTerminal = (): Terminal => ({ input: process.stdin, output: process.stderr });

export interface Confirmation {
  /** The effect of the command, as a sentence without its full stop. */
  readonly effect: string;
  /** The word to type. */
  readonly word?: string;
}

/**
 * Asks for the confirmation of a change that cannot be undone, or that takes the platform away.
 *
 * @param yes whether the command line has `--yes`
 * @throws CliError without a terminal, and for any other answer
 */
export const confirm = async (
  yes: boolean,
  { effect, word = 'yes' }: Confirmation,
  terminal: Terminal = thisTerminal(),
): Promise<void> => {
  if (yes) return;
  const { input, output } = terminal;
  if (input.isTTY !== true || output.isTTY !== true) {
    throw new CliError('USAGE', `${effect}; without a terminal, this needs --yes`);
  }
  const lines = createInterface({ input, output, terminal: false });
  try {
    output.write(`${effect}.\nType ${word} to continue: `);
    for await (const line of lines) {
      if (line.trim() === word) return;
      break;
    }
  } finally {
    lines.close();
  }
  throw new CliError('REFUSED', `${word} was not typed; nothing was changed`);
};
