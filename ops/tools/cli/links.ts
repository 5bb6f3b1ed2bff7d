import type { HistoryResponse } from '../../../schemas/http/history.js';
import { required, shortCodeArgument } from './arguments.js';
import type { Command, CommandContext } from './command.js';
import { addManagingCommands } from './managed-links.js';
import { changed, table } from './output.js';

const rowOf = ({ time, type, actor, data }: HistoryResponse['events'][number]): string[] => {
  const what = /^linklog\.(.+)\.v\d+$/.exec(type)?.[1] ?? type;
  const { reason, url, ...rest } = data;
  const why = reason ?? url ?? Object.values(rest).join(', ');
  return [time, what, actor ?? '', typeof why === 'string' ? why : ''];
};

export const addLinkCommands = (program: Command, { connect, print }: CommandContext): void => {
  const links = program
    .command('links')
    .description('links of all accounts: look at one, change, delete, block it');
  addManagingCommands(links, { connect, print });

  const changes = [
    ['block', 'answer 410 instead of redirecting, on every node within a second', 'phishing'],
    ['unblock', 'redirect again, unless it expired meanwhile', 'reported by mistake'],
  ] as const;
  for (const [call, description, reason] of changes) {
    links
      .command(call)
      .description(description)
      .argument('<code>', 'its short code', shortCodeArgument)
      .option('--reason <reason>', 'why, for its history; 1 to 500 characters')
      .examples(`links ${call} spring-sale --reason "${reason}"`)
      .action(async (code: string, options: { readonly reason?: string }) => {
        const given = required(options.reason, '--reason', `links ${call}`);
        const change = await (await connect()).setBlocked(code, call, given);
        print(
          changed(change, (link) => `${link.blocked ? 'Blocked' : 'Unblocked'}: ${link.shortCode}`),
        );
      });
  }

  links
    .command('history')
    .description('what was done to a link, oldest first; not its visits')
    .argument('<code>', 'its short code', shortCodeArgument)
    .examples(
      'links history spring-sale',
      "links history spring-sale --json | jq -r '.events[].actor'",
    )
    .action(async (code: string) => {
      const events = await (await connect()).linkHistory(code);
      const head = ['TIME', 'WHAT', 'WHO', 'WHY'];
      print({ json: { events }, text: table(head, events.map(rowOf)) });
    });
};
