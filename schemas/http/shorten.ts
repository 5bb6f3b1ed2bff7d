import { z } from 'zod';
import { named, objectOf, requestParts } from '../components.js';
import { fitsInLink, linkTooLarge, type SizedFields } from '../link-size.js';
import { timestamp } from '../events/envelope.js';
import { conflictOf, optionsIn, type OptionFields } from '../link-options.js';
import { aliasPattern } from '../link-subject.js';
import {
  createdAt,
  expiresAt,
  expiresIn,
  expiresTwice,
  optional,
  startsAfterEnd,
  startsAt,
} from './fields.js';
import {
  destination,
  invalidUrl,
  maxClicks,
  note,
  password,
  storedUrl,
  tags,
  title,
  type Destinations,
} from './link-fields.js';
import { domainName, shortCode, shortUrl } from './link-address.js';
import { createdOptions, newOptions, warning, withOptions } from './link-options.js';

const aliasLengthMessage = 'Alias must be between 3 and 50 characters';

/** Property names that are refused at any depth of a body. */
export const disallowedProperties = ['__proto__', 'constructor', 'prototype'];

/** The alias of a request. */
export const aliasText = z
  .string({ error: 'alias must be a string' })
  .min(3, { error: aliasLengthMessage, abort: true })
  .max(50, { error: aliasLengthMessage, abort: true })
  .regex(aliasPattern, {
    error: 'Alias may only contain letters, numbers, hyphens and underscores',
  });

/**
 * The fields of a new link, in the order of the specification's table, which is the order of their validation.
 * `accepted`: what the installation accepts as destinations; `now`: milliseconds.
 */
const creationFields = (accepted: Destinations, now: () => number) => ({
  url: destination(accepted),
  alias: optional(aliasText).meta({
    description:
      'The requested short code, case-sensitive. It must be neither used before nor reserved ' +
      '(system routes, brands, government entities, malicious patterns).',
    examples: ['spring-sale'],
  }),
  password: optional(password).describe('Visitors must enter it before the redirect.'),
  expiresIn: optional(expiresIn).meta({
    description: 'Seconds until the link expires.',
    examples: [86_400],
  }),
  expiresAt: optional(expiresAt(now)).describe('When the link expires, instead of `expiresIn`.'),
  startsAt: optional(startsAt).describe('Before this time, visitors get 404.'),
  maxClicks: optional(maxClicks).meta({
    description: 'Redirects until the link expires.',
    examples: [100],
  }),
  title: optional(title),
  note: optional(note),
  tags: optional(tags).meta({
    description: 'For the owner, to find the link.',
    examples: [['sale']],
  }),
  ...newOptions(accepted),
  domain: optional(domainName).meta({
    description: 'An active domain of the account. Default: the default domain.',
    examples: ['go.example.com'],
  }),
});

interface Ends {
  readonly expiresIn: number | null;
  readonly expiresAt: string | null;
  readonly startsAt: string | null;
}

const endsOnce = ({ expiresIn: seconds, expiresAt: end }: Ends): boolean =>
  seconds === null || end === null;

const startsBeforeEnd =
  (now: () => number) =>
  ({ expiresIn: seconds, expiresAt: end, startsAt: start }: Ends): boolean => {
    if (start === null || (seconds === null && end === null)) return true;
    return Date.parse(start) < (end === null ? now() + (seconds ?? 0) * 1_000 : Date.parse(end));
  };

const bodyRules = {
  description:
    'Unknown properties are stripped; `__proto__`, `constructor` and `prototype` are refused at ' +
    'any depth. `null` in an optional field means absent.',
  propertyNames: { not: { enum: disallowedProperties } },
};

const reuseAlone = 'reuse can only be combined with url and domain';

const withoutConflict = (
  fields: OptionFields & {
    readonly url: string;
    readonly maxClicks: number | null;
    readonly password: string | null;
  },
  context: z.RefinementCtx,
): void => {
  const { password: secret } = fields;
  const link = { ...fields, options: optionsIn(fields), hasPassword: secret !== null };
  const message = conflictOf(link);
  if (message !== null) context.addIssue({ code: 'custom', message });
};

const fits = (fields: Omit<SizedFields, 'options'> & OptionFields): boolean =>
  fitsInLink({ ...fields, options: optionsIn(fields) });

export const shortenRequest = (accepted: Destinations, now: () => number = Date.now) =>
  objectOf(invalidUrl, {
    ...creationFields(accepted, now),
    reuse: z
      .boolean({ error: 'reuse must be true or false' })
      .nullish()
      .transform((reuse) => reuse ?? false)
      .describe(
        'If the account has an active link with exactly this `url` and no options on the domain, return ' +
          'the oldest one with 200, without using the link quota. No field besides `url` and `domain` is allowed.',
      ),
  })
    .refine(endsOnce, expiresTwice)
    .refine(startsBeforeEnd(now), startsAfterEnd)
    .superRefine(withoutConflict)
    .refine(fits, linkTooLarge)
    .refine(({ reuse, ...fields }) => {
      return (
        !reuse ||
        Object.entries(fields).every(
          ([name, value]) =>
            name === 'url' || name === 'domain' || value === null || value === false,
        )
      );
    }, reuseAlone)
    .transform(withOptions)
    .meta(bodyRules)
    .register(requestParts, { id: 'ShortenRequest' });

/** A new link, without options of the request. */
export const linkRequest = (accepted: Destinations, now: () => number = Date.now) =>
  objectOf(invalidUrl, creationFields(accepted, now))
    .refine(endsOnce, expiresTwice)
    .refine(startsBeforeEnd(now), startsAfterEnd)
    .superRefine(withoutConflict)
    .refine(fits, linkTooLarge);

export const batchItemRequest = (...options: Parameters<typeof linkRequest>) =>
  linkRequest(...options).transform((item) => ({ ...withOptions(item), reuse: false }));

export type ShortenRequest = z.output<ReturnType<typeof shortenRequest>>;

/** The Link of the specification: absent options are omitted, never null. */
export const linkResponse = named('Link', {
  shortUrl,
  shortCode,
  domain: z.string().describe('Only if requested.').optional(),
  url: storedUrl,
  alias: shortCode.describe('Only if requested.').optional(),
  expiresAt: timestamp.describe('Only if requested.').optional(),
  startsAt: timestamp.describe('Only if requested.').optional(),
  maxClicks: z.int().min(1).describe('Only if requested.').optional(),
  createdAt,
  title: z.string().describe('Only if requested.').optional(),
  note: z.string().describe('Only if requested.').optional(),
  tags: z.array(z.string()).describe('Only if requested.').optional(),
  ...createdOptions,
  warning,
});
export type LinkResponse = z.infer<typeof linkResponse>;
