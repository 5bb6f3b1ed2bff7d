import { Option, type Command } from 'commander';
import type { PlatformResponse, SwitchPlatformRequest } from '../../../schemas/http/operators.js';
import { oneOf } from './arguments.js';
import { examples, type CommandContext } from './context.js';
import { CliError } from './errors.js';
import { changed, facts } from './output.js';

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

const requestOf = (wanted: Switches): SwitchPlatformRequest => {
  const named = switches.flatMap((name) => {
    const position = wanted[name];
    return position === undefined ? [] : [[name, position === 'on'] as const];
  });
  if (named.length === 0) {
    const options = switches.map((name) => `--${name}`).join(', ');
    throw new CliError('USAGE', `nothing to switch: give one of ${options}`);
  }
  const { maintenance, ...rest } = Object.fromEntries(named);
  return { maintenance, features: rest };
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
      const state = await connect().readPlatform();
      print({ json: state, text: textOf(state) });
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
    const request = requestOf(wanted);
    print(changed(await connect().switchPlatform(request), textOf));
  });
};
