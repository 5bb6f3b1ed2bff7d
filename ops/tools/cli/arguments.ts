import { z } from 'zod';
import { linklogCommand } from '../../platform/process/own-command.js';
import { trimInvisible } from '../../../schemas/trim-invisible.js';
import { CliError } from './errors.js';

const distance = (a: string, b: string): number => {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const cell = (row: number, column: number): number => rows[row]?.[column] ?? Infinity;
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j += 1) {
      const changed = cell(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? cell(i - 2, j - 2) + 1 : Infinity;
      row.push(Math.min(cell(i - 1, j) + 1, cell(i, j - 1) + 1, changed, swapped));
    }
  }
  return cell(a.length, b.length);
};

/** Returns the most similar choice; `null` if none is similar. */
export const nearest = (word: string, choices: readonly string[]): string | null => {
  const lower = word.toLowerCase();
  const near = choices
    .map((choice) => ({ choice, changes: distance(lower, choice.toLowerCase()) }))
    .filter(({ choice, changes }) => changes <= Math.max(1, Math.floor(choice.length / 3)))
    .sort((a, b) => a.changes - b.changes);
  return near[0]?.choice ?? null;
};

export const didYouMean = (word: string, choices: readonly string[]): string => {
  const suggestion = nearest(word, choices);
  return suggestion === null ? '' : ` (did you mean ${suggestion}?)`;
};

/** The choices of the parsers that have some, for the completion in shells. */
const choicesByParser = new WeakMap<object, readonly string[]>();

/** The choices of a parser of `oneOf`, or of several such values; none of another parser. */
export const choicesOf = (parser: unknown): readonly string[] =>
  typeof parser === 'function' ? (choicesByParser.get(parser) ?? []) : [];

/** Returns a case-insensitive parser of an enumeration. @throws CliError that lists the choices */
export const oneOf = <Choice extends string>(name: string, choices: readonly Choice[]) => {
  const parse = (word: string): Choice => {
    const found = choices.find((choice) => choice.toLowerCase() === word.toLowerCase());
    if (found !== undefined) return found;
    throw new CliError(
      'USAGE',
      `there is no ${name} ${JSON.stringify(word)}: it is one of ${choices.join(', ')}` +
        didYouMean(word, choices),
    );
  };
  choicesByParser.set(parse, choices);
  return parse;
};

export const notEmpty =
  (name: string) =>
  (word: string): string => {
    if (word === '') throw new CliError('USAGE', `the ${name} is empty`);
    return word;
  };

/** A text that names a link: see `pastedLink`. */
export const linkArgument = (word: string): string => notEmpty('short code')(trimInvisible(word));

export const linkDescription = 'short code, domain/code or short URL';

/** Returns a parser of a whole number. @throws CliError */
export const wholeNumber =
  (quantity: string) =>
  (word: string): number => {
    if (/^\d{1,15}$/.test(word)) return Number(word);
    throw new CliError('USAGE', `${JSON.stringify(word)} is not a ${quantity}`);
  };

/** Returns a parser of a repeatable option. */
export const several = <Value>(parse: (word: string) => Value) => {
  const append = (word: string, before: readonly Value[] = []): readonly Value[] => [
    ...before,
    parse(word),
  ];
  choicesByParser.set(append, choicesOf(parse));
  return append;
};

/**
 * Returns the value of a required option. Commander's own check would run before it reports misspelt options.
 *
 * @throws CliError
 */
export const required = <Value>(
  value: Value | undefined,
  option: string,
  command: string,
): Value => {
  if (value !== undefined) return value;
  throw new CliError('USAGE', `${option} is missing; see "${linklogCommand()} ${command} --help"`);
};

const isoTime = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** Parses an ISO 8601 time with its zone into the format of `toISOString`. @throws CliError */
export const timeOf = (text: string): string => {
  if (isoTime.safeParse(text).success) return new Date(text).toISOString();
  throw new CliError(
    'USAGE',
    `${JSON.stringify(text)} is not a time: use 2026-05-20T12:00:00Z, 2026-05-20T14:00:00+02:00, ` +
      'or 2026-05-20 for 00:00 UTC',
  );
};

/** Seconds of each unit of a duration. */
const durationUnits: Readonly<Record<string, number>> = {
  '': 1,
  s: 1,
  m: 60,
  h: 3_600,
  d: 86_400,
  w: 604_800,
};

/** Parses `30d`, `12h`, `90m`, `2w`, `45s` or a number of seconds into seconds. @throws CliError */
export const durationOf = (word: string): number => {
  const [, digits, unit = ''] = /^(\d{1,15})([smhdw]?)$/.exec(word) ?? [];
  const seconds = digits === undefined ? NaN : Number(digits) * (durationUnits[unit] ?? NaN);
  if (Number.isSafeInteger(seconds)) return seconds;
  throw new CliError(
    'USAGE',
    `${JSON.stringify(word)} is not a duration: use 30d, 12h, 90m, 2w, or a number of seconds`,
  );
};

/** Parses a duration or the word `never`. @throws CliError */
export const durationOrNever = (word: string): number | 'never' =>
  word === 'never' ? word : durationOf(word);
