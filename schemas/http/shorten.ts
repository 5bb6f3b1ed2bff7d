import { z } from 'zod';
import { timestamp } from '../events/envelope.js';

/** What a short code consists of, an alias included. */
export const shortCodePattern = /^[A-Za-z0-9_-]{3,50}$/;

const maxUrlLength = 2_048;
// The parser strips or rewrites some of these; none has a place in a URL, nor in a header.

const controlCharacters = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
const startsAsUrl = /^https?:\/\/[^/\\?#]/i;

/** The parsed form of a destination, or `null` where it is none that we take. */
const parseDestination = (url: string): URL | null => {
  if (!startsAsUrl.test(url) || controlCharacters.test(url) || !url.isWellFormed()) return null;
  if (!URL.canParse(url)) return null;
  const parsed = new URL(url);
  if (parsed.username !== '' || parsed.password !== '') return null;
  return Math.max(url.length, parsed.href.length) > maxUrlLength ? null : parsed;
};

const invalidUrl = 'Please provide a valid URL';

/** `null` in an optional field means absent. */
const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? null);

const expiresInMessage = 'expiresIn must be at least 60 seconds (1 minute)';
const tenYears = 315_360_000;
const maxClicksLimit = 1_000_000_000;

/**
 * The body of POST /v2/shorten. Its fields stand in the order of the specification's table, which
 * is the order in which they are checked. `isOwnHost` tells destinations that would loop.
 */
export const shortenRequest = (isOwnHost: (destination: URL) => boolean) =>
  z.object(
    {
      url: z
        .string({ error: invalidUrl })
        .transform((url) => url.trim())
        .refine((url) => {
          const parsed = parseDestination(url);
          return parsed !== null && !isOwnHost(parsed);
        }, invalidUrl),
      alias: optional(
        z
          .string({ error: 'alias must be a string' })
          .refine((alias) => alias.length >= 3 && alias.length <= 50, {
            error: 'Alias must be between 3 and 50 characters',
            abort: true,
          })
          .regex(shortCodePattern, {
            error: 'Alias may only contain letters, numbers, hyphens and underscores',
          }),
      ),
      password: optional(
        z
          .string({ error: 'password must be a string' })
          .refine((password) => password.length >= 4 && password.length <= 100, {
            error: 'Password must be between 4 and 100 characters',
          }),
      ),
      expiresIn: optional(
        z
          .number({ error: 'expiresIn must be a number' })
          .min(60, { error: expiresInMessage, abort: true })
          .max(tenYears, {
            error: `expiresIn must be at most ${tenYears} seconds (10 years)`,
            abort: true,
          })
          .int({ error: 'expiresIn must be a whole number of seconds' }),
      ),
      maxClicks: optional(
        z
          .number({ error: 'maxClicks must be a number' })
          .min(1, { error: 'maxClicks must be at least 1', abort: true })
          .max(maxClicksLimit, {
            error: `maxClicks must be at most ${maxClicksLimit}`,
            abort: true,
          })
          .int({ error: 'maxClicks must be an integer' }),
      ),
    },
    { error: invalidUrl },
  );

export type ShortenRequest = z.output<ReturnType<typeof shortenRequest>>;

/** The Link of the specification: what was not asked for is left out, never null. */
export const linkResponse = z.object({
  shortUrl: z.url(),
  shortCode: z.string(),
  url: z.string(),
  alias: z.string().optional(),
  expiresAt: timestamp.optional(),
  maxClicks: z.int().optional(),
  createdAt: timestamp,
});
export type LinkResponse = z.infer<typeof linkResponse>;

/** Properties that no body may hold, at any depth. */
const disallowed = new Set(['__proto__', 'constructor', 'prototype']);

/** The first explicitly disallowed property in a parsed JSON value, or `null`. */
export const disallowedProperty = (json: unknown): string | null => {
  // A stack of its own: hostile nesting must not exhaust the call stack.
  const waiting: unknown[] = [json];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value !== 'object' || value === null) continue;
    const found = Object.keys(value).find((key) => disallowed.has(key));
    if (found !== undefined) return found;
    for (const child of Object.values(value)) waiting.push(child);
  }
  return null;
};
