import { z } from 'zod';
import { timestamp } from '../events/envelope.js';
import { expiresIn, optional } from './fields.js';

/** What a short code consists of, an alias included. */
export const shortCodePattern = /^[A-Za-z0-9_-]{3,50}$/;

export const shortCode = z.string().regex(shortCodePattern);

const maxUrlLength = 2_048;
/**
 * A destination that all clients read alike: no `@` in its authority, no backslash before its query.
 * WHATWG parsers read `http://a\@b/` as host `a`, RFC 3986 parsers (wget) as host `b`. The pattern is
 * written without a flag, because JSON Schema has none. The parser strips or rewrites some control
 * characters; none has a place in a URL, nor in a header.
 */
export const destinationPattern =
  /^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^/\\?#@\u0000-\u001f\u007f-\u009f\u2028\u2029]+(?:\/[^\\?#\u0000-\u001f\u007f-\u009f\u2028\u2029]*)?(?:[?#][^\u0000-\u001f\u007f-\u009f\u2028\u2029]*)?$/;

/** The parsed form of a destination, or `null` where it is none that we take. */
const parseDestination = (url: string): URL | null => {
  if (!url.isWellFormed() || !URL.canParse(url)) return null;
  const parsed = new URL(url);
  return parsed.href.length > maxUrlLength ? null : parsed;
};

const invalidUrl = 'Please provide a valid URL';
const aliasLengthMessage = 'Alias must be between 3 and 50 characters';

const passwordMessage = 'Password must be between 4 and 100 characters';
const passwordBounds = { minLength: 4, maxLength: 100 } as const;

const maxClicksLimit = 1_000_000_000;

/** Properties that no body may hold, at any depth. */
export const disallowedProperties = ['__proto__', 'constructor', 'prototype'];

/**
 * The body of POST /v2/shorten. Its fields stand in the order of the specification's table, which
 * is the order in which they are checked. `isOwnHost` tells destinations that would loop.
 */
export const shortenRequest = (isOwnHost: (destination: URL) => boolean) =>
  z
    .object(
      {
        url: z
          .string({ error: invalidUrl })
          .trim()
          .max(maxUrlLength, { error: invalidUrl, abort: true })
          .regex(destinationPattern, { error: invalidUrl, abort: true })
          .refine((url) => {
            const parsed = parseDestination(url);
            return parsed !== null && !isOwnHost(parsed);
          }, invalidUrl)
          .meta({
            description:
              'The destination, kept exactly as it is sent; outer white space is trimmed first. ' +
              'Beyond the pattern: it parses as the URL Standard has it, has at most 2,048 ' +
              'characters in its normalised form too, and does not lead to this service itself.',
            examples: ['https://example.com/a?b=c'],
          }),
        alias: optional(
          z
            .string({ error: 'alias must be a string' })
            .min(3, { error: aliasLengthMessage, abort: true })
            .max(50, { error: aliasLengthMessage, abort: true })
            .regex(shortCodePattern, {
              error: 'Alias may only contain letters, numbers, hyphens and underscores',
            }),
        ).meta({
          description:
            'The short code wanted, case-sensitive. It must never have been in use, and not be ' +
            'reserved: system routes, brands, government entities, malicious patterns.',
          examples: ['spring-sale'],
        }),
        password: optional(
          z
            .string({ error: 'password must be a string' })
            .refine((password) => {
              // Counted as JSON Schema counts: what takes two UTF-16 units is one character.
              const { length } = Array.from(password);
              return length >= passwordBounds.minLength && length <= passwordBounds.maxLength;
            }, passwordMessage)
            .meta(passwordBounds),
        ).meta({ description: 'Visitors must enter it before the redirect.' }),
        expiresIn: optional(expiresIn).meta({
          description: 'Seconds until the link expires.',
          examples: [86_400],
        }),
        maxClicks: optional(
          z
            .number({ error: 'maxClicks must be a number' })
            .min(1, { error: 'maxClicks must be at least 1', abort: true })
            .max(maxClicksLimit, {
              error: `maxClicks must be at most ${maxClicksLimit}`,
              abort: true,
            })
            .int({ error: 'maxClicks must be an integer' }),
        ).meta({ description: 'Redirects until the link expires.', examples: [100] }),
      },
      { error: invalidUrl },
    )
    .meta({
      description:
        'Properties that are not listed are stripped; `__proto__`, `constructor` and `prototype` ' +
        'are refused, at any depth. `null` in an optional field means absent.',
      propertyNames: { not: { enum: disallowedProperties } },
    });

export type ShortenRequest = z.output<ReturnType<typeof shortenRequest>>;

/** The Link of the specification: what was not asked for is left out, never null. */
export const linkResponse = z.object({
  shortUrl: z.url(),
  shortCode,
  url: z.string(),
  alias: shortCode.describe('Only where one was asked for.').optional(),
  expiresAt: timestamp.describe('Only where `expiresIn` was given.').optional(),
  maxClicks: z.int().min(1).describe('Only where it was given.').optional(),
  createdAt: timestamp,
});
export type LinkResponse = z.infer<typeof linkResponse>;
