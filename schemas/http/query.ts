import { z } from 'zod';
import { readTime, readZone, type RequestedTime } from '../statistics/period.js';

/** A whole number of a query, such as `limit=20`. */
export const wholeNumber = (low: number, high: number, message: string) =>
  z
    .string({ error: message })
    .regex(/^\d{1,4}$/, message)
    .transform(Number)
    .pipe(z.int().min(low, message).max(high, message));

/** The values of a parameter that may be repeated or comma-separated. */
export const repeatable = (error: string) =>
  z
    .union([z.string().transform((value) => [value]), z.array(z.string())], { error })
    .transform((values) => values.flatMap((value) => value.split(',')));

/** A schema that parses with `read`, which returns `null` for an invalid text. */
export const readAs = <Value>(read: (text: string) => Value | null, error: string) =>
  z.string({ error }).transform((text, context): Value => {
    const value = read(text);
    if (value !== null) return value;
    context.addIssue({ code: 'custom', message: error });
    return z.NEVER;
  });

/** Reads a time. A `+` that was not percent-encoded arrives as a space. */
export const readSentTime = (text: string): RequestedTime | null =>
  readTime(text.replace(/ (?=\d\d:\d\d$)/, '+'));

/** The time zone of the times in a query. */
export const timeZone = (description: string) =>
  readAs(readZone, 'tz must be an IANA time zone, such as Europe/Berlin')
    .default('UTC')
    .meta({ type: 'string', description, examples: ['Europe/Berlin'] });
