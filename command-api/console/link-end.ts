/** The form of a link's end: never, after a period, or at a time. */
import { restorableMs } from '../../schemas/folds/link-status.js';
import { fromLocalTime, toLocalTime } from './rules-form.js';

/** Seconds of the units of a period. */
export const units = { minutes: 60, hours: 3_600, days: 86_400, weeks: 604_800 } as const;
export type Unit = keyof typeof units;

/** Values of the choice that are not a number of seconds. */
export const endChoices = { never: '', period: 'period', time: 'time' } as const;

/** The bounds of the API for a period, in seconds. */
const shortest = 60;
const longest = 315_360_000;

/** The largest number of a unit that the API accepts. */
export const maxOf = (unit: Unit): number => Math.floor(longest / Math.max(shortest, units[unit]));

/** The time until which a deleted link can be restored; `null`: it cannot any more. */
export const restorableUntil = (link: { readonly updatedAt: string }): string | null => {
  const end = new Date(Date.parse(link.updatedAt) + restorableMs);
  return end.getTime() > Date.now() ? end.toISOString() : null;
};

/** A time that users change to another day: the last minute of the day in 30 days. */
export const suggestedEnd = (): string =>
  toLocalTime(new Date(Date.now() + 30 * units.days * 1_000).toISOString()).replace(
    /T.*/,
    'T23:59',
  );

type Fields = Readonly<Record<string, string | undefined>>;

type LinkEnd =
  | { readonly expiresIn: number }
  | { readonly expiresAt: string }
  /** No end. */
  | { readonly expiresAt: null };

const isUnit = (text: string): text is Unit => Object.hasOwn(units, text);

/** Reads the fields `ends`, `endsIn`, `endsUnit` and `endsAt` of a form. */
export const readEnd = ({ ends = '', endsIn, endsUnit = '', endsAt = '' }: Fields): LinkEnd => {
  if (ends === endChoices.never) return { expiresAt: null };
  if (ends === endChoices.time) return { expiresAt: fromLocalTime(endsAt) || null };
  if (ends !== endChoices.period) return { expiresIn: Number(ends) };
  return { expiresIn: Math.round(Number(endsIn) * (isUnit(endsUnit) ? units[endsUnit] : 1)) };
};

/** The change of a link's end; empty: none. The form has times without seconds. */
export const changeOfEnd = (fields: Fields, current: string | null): Partial<LinkEnd> => {
  const end = readEnd(fields);
  if (!('expiresAt' in end)) return end;
  const isEqual = toLocalTime(end.expiresAt ?? undefined) === toLocalTime(current ?? undefined);
  return isEqual ? {} : end;
};

/** The change of a link's start; empty: none. */
export const changeOfStart = (
  startsAt: string | undefined,
  current: string | null,
): { readonly startsAt?: string | null } =>
  (startsAt ?? '') === toLocalTime(current ?? undefined)
    ? {}
    : { startsAt: fromLocalTime(startsAt ?? '') || null };
