import { Option, type Command } from 'commander';
import type { PlatformResponse } from '../../../schemas/http/operators.js';
import { oneOf } from './arguments.js';
import type { AdminClient } from './client.js';
import { examples, type CommandContext } from './context.js';
import { CliError } from './errors.js';
import { facts, noticeOf, type Answer } from './output.js';

const features = ['shortening', 'aliases', 'passwords', 'expiration', 'qr'] as const;

/** Everything that has an option of its own. */
const switches = ['maintenance', ...features] as const;

type Switches = Readonly<Partial<Record<(typeof switches)[number], 'on' | 'off'>>>;

const onOrOff = oneOf('switch position', ['on', 'off'] as const);

const textOf = ({ maintenance, features: known }: PlatformResponse): string =>
  facts([
    ['maintenance', maintenance ? 'on' : 'off'],
    ...features.map((name) => [name, known[name] ? 'on' : 'off'] as const),
  ]);

const show = async (client: AdminClient): Promise<Answer> => {
  const platform = await client.readPlatform();
  return { json: platform, text: textOf(platform) };
};

const set = async (connect: () => AdminClient, wanted: Switches): Promise<Answer> => {
  const named = switches.flatMap((name) => {
    const position = wanted[name];
    return position === undefined ? [] : [[name, position === 'on'] as const];
  });
  if (named.length === 0) {
    const options = switches.map((name) => `--${name}`).join(', ');
    throw new CliError('USAGE', `nothing to switch: give one of ${options}`);
  }
  const { maintenance, ...rest } = Object.fromEntries(named);
  const { value, inLog } = await connect().switchPlatform({ maintenance, features: rest });
  return { json: value, text: textOf(value), notice: noticeOf(inLog) };
};

/** Adds `linklog platform …`. */
export const addPlatformCommands = (program: Command, { connect, print }: CommandContext): void => {
  const platform = program
    .command('platform')
    .helpCommand(false)
    .description('maintenance, and what is switched off for everybody');

  platform
    .command('show')
    .description('what is on and what is off')
    .addHelpText('after', examples('platform show', 'platform show --json | jq .features.qr'))
    .action(async () => {
      print(await show(connect()));
    });

  const setCommand = platform
    .command('set')
    .description('switch things on and off; every node knows within a second')
    .addHelpText(
      'after',
      examples('platform set --maintenance on', 'platform set --shortening off --qr off'),
    );
  const meanings = {
    maintenance: 'answer 503 to everybody but operators',
    shortening: 'new links',
    aliases: 'custom aliases of new links',
    passwords: 'passwords of new links',
    expiration: 'new links that expire',
    qr: 'QR codes',
  } as const;
  for (const name of switches) {
    setCommand.addOption(new Option(`--${name} <on|off>`, meanings[name]).argParser(onOrOff));
  }
  setCommand.action(async (wanted: Switches) => {
    print(await set(connect, wanted));
  });
};
