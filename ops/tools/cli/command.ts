import { Command as CommanderCommand } from 'commander';
import type { Config } from '../../config/config.js';
import type { AdminClient } from './client.js';
import type { Answer } from './output.js';

/** What a command needs of the command line. */
export interface CommandContext {
  readonly readConfig: () => Config;
  /** A client of the running service. */
  readonly connect: () => Promise<AdminClient>;
  /** Prints the answer as `--json` asks, and sets the exit code. */
  readonly print: (answer: Answer) => void;
}

/** A command of `linklog`, or a group of them. */
export class Command extends CommanderCommand {
  override createCommand(name?: string): Command {
    // `linklog help` knows all commands: a group needs no `help` of its own.
    return new Command(name).helpCommand(false);
  }

  /** Adds text to the end of the help. */
  notes(text: string): this {
    return this.addHelpText('after', text);
  }

  /** Adds examples to the end of the help, each without its `linklog`. */
  examples(...lines: readonly string[]): this {
    const title = lines.length === 1 ? 'Example' : 'Examples';
    return this.notes([`\n${title}:`, ...lines.map((line) => `  $ linklog ${line}`)].join('\n'));
  }
}
