/** The options of a link as flags of commands and as fields of their output, except for rules, which are in a file. */
import {
  isFlag,
  linkOptions,
  optionNames,
  type OptionName,
} from '../../../schemas/link-options.js';
import type { Command } from './command.js';
import { plain } from './output.js';

const names = optionNames.filter((name) => name !== 'rules');

const words = (name: OptionName, separator: string): string =>
  name.replace(/[A-Z]/g, (capital) => separator + capital.toLowerCase());

/** Adds a flag for each option; with `removes`, also a flag that removes it. */
export const withOptionFlags = (command: Command, { removes }: { readonly removes: boolean }) => {
  for (const name of names) {
    const flag = words(name, '-');
    const [first = '', ...rest] = linkOptions[name].description.replace(/\.$/, '');
    const description = first.toLowerCase() + rest.join('');
    command.option(isFlag(name) ? `--${flag}` : `--${flag} <value>`, description);
    if (removes) command.option(`--no-${flag}`, 'remove it');
  }
  return command;
};

/** The values of flags; an absent one is `undefined`. Objects are JSON. */
export type OptionFlags = Readonly<Partial<Record<OptionName, string | boolean>>>;

const valueOf = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
};

/** The fields of a request. The service refuses invalid ones. */
export const fieldsOf = (flags: OptionFlags): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    names.map((name) => {
      const flag = flags[name];
      if (typeof flag === 'string') return [name, valueOf(flag)];
      return [name, flag === false ? linkOptions[name].none : flag];
    }),
  );

/** The options for `formatFields`. */
export const optionFields = (
  link: Readonly<Partial<Record<OptionName, unknown>>>,
): (readonly [string, string | null])[] =>
  names.map((name) => {
    const value = link[name] ?? false;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return [words(name, ' '), value === false ? null : plain(value === true ? 'yes' : text)];
  });
