import { feedEventNames } from '../../../schemas/feed.js';
import { oneOf } from './arguments.js';
import type { AddCommands } from './command.js';
import { followEvents, type FeedEvent } from './follow-events.js';
import { untilEnded } from './long-work.js';
import { eventNameOf, plain, writeOut } from './output.js';

const maxDataLength = 120;

const dataText = (data: FeedEvent['data']): string => {
  const fields = Object.entries(data)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const characters = Array.from(fields.join(' '));
  return characters.length > maxDataLength
    ? `${characters.slice(0, maxDataLength - 1).join('')}…`
    : characters.join('');
};

/** One line: time, type, subject, actor, data. */
export const eventLine = ({ time, type, subject, actor = '-', data }: FeedEvent): string =>
  plain([time, eventNameOf(type).padEnd(15), subject, actor, dataText(data)].join('  ')).trimEnd();

interface TailOptions {
  readonly account: string;
  readonly types?: string;
  readonly after: string;
}

const eventType = oneOf('event type', feedEventNames);
const eventTypes = (list: string): string => list.split(',').map(eventType).join();

export const addEventCommands: AddCommands = (program, context) => {
  const { connect, isJson, print } = context;
  const events = program.command('events').description('follow the events of an account');

  events
    .command('tail')
    .description('print events as they happen, until Ctrl-C')
    .option('--account <account>', 'account', 'default')
    .option(
      '--types <names>',
      'comma-separated event types; default all but LinkVisited',
      eventTypes,
    )
    .option('--after <position>', '"start", "now", or a cursor', 'now')
    .notes(
      `
With --json, each line is a CloudEvent. A lost connection is opened again, and no event is lost. At the end, the
command prints the cursor to continue at.

Examples:
  $ linklog events tail --types LinkCreated,LinkVisited
  $ linklog events tail --account shop --after start --json | jq -r .subject`,
    )
    .action(async ({ account, types, after }: TailOptions) => {
      let cursor = after;
      const report = (notice: string): void => {
        print({ notice });
      };
      await untilEnded(async (signal) => {
        const query = { account, types, after };
        for await (const step of followEvents({ connect, query, report, signal })) {
          const { event } = step;
          if (event) await writeOut(`${isJson() ? JSON.stringify(event) : eventLine(event)}\n`);
          ({ cursor } = step);
        }
      });
      print({ notice: `continue with --after ${cursor}` });
    });
};
