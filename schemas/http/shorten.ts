import { z } from 'zod';
import { timestamp } from '../events/envelope.js';
import { expiresIn, optional } from './fields.js';
import { destination, invalidUrl, maxClicks, note, password, tags, title } from './link-fields.js';

/** What a short code consists of, an alias included. */
export const shortCodePattern = /^[A-Za-z0-9_-]{3,50}$/;

export const shortCode = z.string().regex(shortCodePattern);

const aliasLengthMessage = 'Alias must be between 3 and 50 characters';

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
        url: destination(isOwnHost),
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
        password: optional(password).meta({
          description: 'Visitors must enter it before the redirect.',
        }),
        expiresIn: optional(expiresIn).meta({
          description: 'Seconds until the link expires.',
          examples: [86_400],
        }),
        maxClicks: optional(maxClicks).meta({
          description: 'Redirects until the link expires.',
          examples: [100],
        }),
        title: optional(title).meta({ description: 'For its owner; visitors do not see it.' }),
        note: optional(note).meta({ description: 'For its owner; visitors do not see it.' }),
        tags: optional(tags).meta({ description: 'To find it by.', examples: [['sale']] }),
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
  title: z.string().describe('Only where it was given.').optional(),
  note: z.string().describe('Only where it was given.').optional(),
  tags: z.array(z.string()).describe('Only where they were given.').optional(),
});
export type LinkResponse = z.infer<typeof linkResponse>;
