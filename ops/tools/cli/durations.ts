import { CliError } from './errors.js';

/** Seconds. */
const units: Readonly<Record<string, number>> = {
  '': 1,
  s: 1,
  m: 60,
  h: 3_600,
  d: 86_400,
  w: 604_800,
};

/**
 * Parses `30d`, `12h`, `90m`, `2w`, `45s` or a number of seconds into seconds.
 *
 * @throws CliError
 */
export const durationOf = (word: string): number => {
  const [, digits, unit = ''] = /^(\d{1,15})([smhdw]?)$/.exec(word) ?? [];
  const seconds = digits === undefined ? NaN : Number(digits) * (units[unit] ?? NaN);
  if (Number.isSafeInteger(seconds)) return seconds;
  throw new CliError(
    'USAGE',
    `${JSON.stringify(word)} is not a duration: use 30d, 12h, 90m, 2w, or a number of seconds`,
  );
};

/** Parses a duration or the word `never`. @throws CliError */
export const durationOrNever = (word: string): number | 'never' =>
  word === 'never' ? word : durationOf(word);
