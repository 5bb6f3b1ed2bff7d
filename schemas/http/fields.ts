/** Fields of several requests and responses. */
import { Temporal } from 'temporal-polyfill';
import { z } from 'zod';
import { timestamp } from '../events/envelope.js';
import { readTime } from '../statistics/period.js';
import { readAs } from './query.js';

/** `null` in an optional field means absent. */
export const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? null);

/** `null` means absent. */
export const given = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);

export const createdAt = timestamp.describe('The time of its creation, UTC.');

const tenYears = 315_360_000;

/** Seconds from now. */
export const expiresIn = z
  .number({ error: 'expiresIn must be a number' })
  .min(60, { error: 'expiresIn must be at least 60 seconds (1 minute)', abort: true })
  .max(tenYears, {
    error: `expiresIn must be at most ${tenYears} seconds (10 years)`,
    abort: true,
  })
  .int({ error: 'expiresIn must be a whole number of seconds' });

const timeExample = '2030-12-31T18:00:00+01:00';

/** The message of an invalid time, after its name. */
export const invalidTime = `must be a time in ISO 8601 with an offset, such as ${timeExample}`;

/** A time with an offset, converted to UTC with milliseconds as in events. */
export const sentTime = (error: string) =>
  readAs((text) => {
    const time = readTime(text);
    if (!(time instanceof Temporal.Instant)) return null;
    return new Date(time.epochMilliseconds).toISOString();
  }, error).meta({
    type: 'string',
    format: 'date-time',
    examples: [timeExample],
  });

const leastMs = 60_000;

/** An end instead of `expiresIn`, with the same bounds. @param now milliseconds */
export const expiresAt = (now: () => number) =>
  sentTime(`expiresAt ${invalidTime}`)
    .refine((time) => Date.parse(time) - now() >= leastMs, {
      error: 'expiresAt must be at least 60 seconds (1 minute) ahead',
      abort: true,
    })
    .refine(
      (time) => Date.parse(time) - now() <= tenYears * 1_000,
      'expiresAt must be at most 10 years ahead',
    );

export const startsAt = sentTime(`startsAt ${invalidTime}`);

export const expiresTwice = 'Give expiresIn or expiresAt, not both';
export const startsAfterEnd = 'startsAt must be before expiresAt';
