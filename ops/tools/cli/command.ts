import { Command as CommanderCommand } from 'commander';
import type { Config } from '../../config/config.js';
import type { AdminClient } from './client.js';
import type { Confirmation } from './confirmation.js';
import type { Output } from './output.js';

export interface CommandContext {
  readonly readConfig: () => Config;
  readonly connect: () => Promise<AdminClient>;
  /** Whether the command has the option `--json`. */
  readonly isJson: () => boolean;
  readonly print: (output: Output) => void;
  /** The actor of changes. */
  readonly actor: () => string;
  /** Asks on the terminal, unless the command has `--yes`. @throws CliError */
  readonly confirm: (confirmation: Confirmation) => Promise<void>;
}

/** A command of `linklog`, or a group of them. */
export class Command extends CommanderCommand {
  override createCommand(name?: string): Command {
    // `linklog help` covers all commands, so groups have no `help` command.
    return new Command(name).helpCommand(false);
  }

  notes(text: string): this {
    return this.addHelpText('after', text);
  }

  /** Adds the option that skips the confirmation. */
  confirmed(): this {
    return this.option('--yes', 'do not ask for a confirmation');
  }

  /** Adds examples, without the word `linklog`, to the end of the help. */
  examples(...lines: readonly string[]): this {
    const title = lines.length === 1 ? 'Example' : 'Examples';
    return this.notes([`\n${title}:`, ...lines.map((line) => `  $ linklog ${line}`)].join('\n'));
  }
}

/** Adds the commands of a module to the program, or to a group. */
export type AddCommands = (program: Command, context: CommandContext) => void;
