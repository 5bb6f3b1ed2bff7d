import { Option } from 'commander';
import type { PlatformResponse, SwitchPlatformRequest } from '../../../schemas/http/operators.js';
import { oneOf } from './arguments.js';
import type { AddCommands } from './command.js';
import { CliError } from './errors.js';
import { changed, formatFields } from './output.js';

/** The options and their help. */
const switches = {
  maintenance: 'return 503 to all clients except operators',
  shortening: 'new links',
  aliases: 'custom aliases of new links',
  passwords: 'passwords of new links',
  expiration: 'new links that expire',
  qr: 'QR codes',
} as const;
const names = Object.keys(switches) as (keyof typeof switches)[];

type Switches = Readonly<Partial<Record<keyof typeof switches, 'on' | 'off'>>>;

const onOrOff = oneOf('switch position', ['on', 'off'] as const);

const textOf = ({ maintenance, features }: PlatformResponse): string => {
  const state = { maintenance, ...features };
  return formatFields(names.map((name) => [name, state[name] ? 'on' : 'off']));
};

const requestOf = (options: Switches): SwitchPlatformRequest => {
  const named = names.filter((name) => options[name] !== undefined);
  if (named.length === 0) {
    const flags = names.map((name) => `--${name}`).join(', ');
    throw new CliError('USAGE', `nothing to switch: use one of ${flags}`);
  }
  const positions = named.map((name) => [name, options[name] === 'on'] as const);
  const { maintenance, ...features } = Object.fromEntries(positions);
  return { maintenance, features };
};

export const addPlatformCommands: AddCommands = (program, { connect, print, confirm }) => {
  const platform = program
    .command('platform')
    .description('show and switch maintenance and features');

  platform
    .command('show')
    .description('show the switches')
    .examples('platform show', 'platform show --json | jq .features.qr')
    .action(async () => {
      const state = await (await connect()).get('getPlatform');
      print({ json: state, text: textOf(state) });
    });

  const setCommand = platform
    .command('set')
    .description('change switches; all nodes apply them within a second')
    .confirmed()
    .notes('\nOnly --maintenance on asks for a confirmation.')
    .examples('platform set --maintenance on', 'platform set --shortening off --qr off');
  for (const name of names) {
    setCommand.addOption(new Option(`--${name} <on|off>`, switches[name]).argParser(onOrOff));
  }
  setCommand.action(async (options: Switches) => {
    const body = requestOf(options);
    if (body.maintenance === true) {
      await confirm({
        effect: 'The API and all short links return 503 until maintenance is off',
        word: 'maintenance',
      });
    }
    print(changed(await (await connect()).call('switchPlatform', { body }), textOf));
  });
};
