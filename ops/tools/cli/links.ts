import type { Command } from 'commander';
import type { HistoryResponse } from '../../../schemas/http/operators.js';
import type { AdminClient } from './client.js';
import { CliError } from './errors.js';
import { noticeOf, table, type Answer } from './output.js';

const shortCode = (code: string): string => {
  if (code === '') throw new CliError('USAGE', 'the short code is empty');
  return code;
};

interface ReasonOption {
  readonly reason?: string;
}

type What = 'block' | 'unblock';

const change = async (
  connect: () => AdminClient,
  what: What,
  code: string,
  { reason }: ReasonOption,
): Promise<Answer> => {
  if (reason === undefined) {
    throw new CliError('USAGE', `--reason is missing; see "linklog links ${what} --help"`);
  }
  const client = connect();
  const { value, inLog } = await (what === 'block'
    ? client.blockLink(code, reason)
    : client.unblockLink(code, reason));
  const text = `${value.blocked ? 'Blocked' : 'Unblocked'}: ${value.shortCode}`;
  return { json: value, text, notice: noticeOf(inLog) };
};

const rowOf = ({ time, type, actor, data }: HistoryResponse['events'][number]): string[] => {
  const what = /^linklog\.(.+)\.v\d+$/.exec(type)?.[1] ?? type;
  const why = data['reason'] ?? data['url'];
  return [time, what, actor ?? '', typeof why === 'string' ? why : ''];
};

const history = async (client: AdminClient, code: string): Promise<Answer> => {
  const events = await client.linkHistory(code);
  return { json: { events }, text: table(['TIME', 'WHAT', 'WHO', 'WHY'], events.map(rowOf)) };
};

/** Adds `linklog links …`. */
export const addLinkCommands = (
  program: Command,
  connect: () => AdminClient,
  print: (command: Command, answer: Answer) => void,
): void => {
  const links = program
    .command('links')
    .helpCommand(false)
    .description('links: block, unblock, see what was done to one');

  const changes = [
    ['block', 'answer 410 instead of redirecting, on every node within a second', 'phishing'],
    ['unblock', 'redirect again, unless it expired meanwhile', 'reported by mistake'],
  ] as const;
  for (const [what, description, reason] of changes) {
    links
      .command(what)
      .description(description)
      .argument('<code>', 'its short code', shortCode)
      .option('--reason <reason>', 'why, for its history; 1 to 500 characters')
      .addHelpText(
        'after',
        `
Example:
  $ linklog links ${what} spring-sale --reason "${reason}"`,
      )
      .action(async (code: string, options: ReasonOption, command: Command) => {
        print(command, await change(connect, what, code, options));
      });
  }

  links
    .command('history')
    .description('what was done to a link, oldest first; not its visits')
    .argument('<code>', 'its short code', shortCode)
    .addHelpText(
      'after',
      `
Examples:
  $ linklog links history spring-sale
  $ linklog links history spring-sale --json | jq -r '.events[].actor'`,
    )
    .action(async (code: string, _options: object, command: Command) => {
      print(command, await history(connect(), code));
    });
};
