import { z } from 'zod';
import { listOf } from '../list-of.js';
import { timestamp } from '../events/envelope.js';
import { planName } from '../plans.js';
import { inOrder, scopeName, scopeNames } from '../scopes.js';
import { expiresIn, optional } from './fields.js';
import { text } from './link-fields.js';
import { wholeNumber } from './query.js';
import { usageResponse } from './reports.js';
import { disallowedProperties } from './shorten.js';

/** Ids of keys are UUIDs in lower case. */
export const keyIdPattern = /^[0-9a-f-]{36}$/;

const nameMessage = 'name must have 1 to 100 characters, none of them control characters';
const name = text(
  { minLength: 1, maxLength: 100 },
  /^[^\u0000-\u001f\u007f-\u009f]*$/,
  nameMessage,
);

const accountMessage =
  'account must have 1 to 64 characters: letters, digits, dots, hyphens and underscores';

export const accountName = z
  .string({ error: accountMessage })
  .regex(/^[A-Za-z0-9._-]{1,64}$/, accountMessage);

const planField = z.enum(planName.options, {
  error: 'plan must be one of FREE, HOBBY, INDIE, PRO',
});

const scopesMessage = `scopes must be a list of ${scopeNames.join(', ')}`;
const scopes = listOf(z.enum(scopeNames, { error: scopesMessage }), {
  // Each scope may be there several times.
  ...{ max: 100, error: scopesMessage },
}).transform(inOrder);

/** POST /admin/keys */
export const createKeyRequest = z.object(
  {
    name,
    plan: planField,
    account: accountName.default('default'),
    scopes: scopes.default(scopeNames),
    expiresIn: optional(expiresIn),
  },
  { error: nameMessage },
);
export type CreateKeyRequest = z.input<typeof createKeyRequest>;

/** PATCH /admin/keys/:id */
export const changeKeyRequest = z
  .object({
    name: name.optional(),
    plan: planField.optional(),
    active: z.boolean({ error: 'active must be true or false' }).optional(),
    scopes: scopes.optional(),
    /** `null` removes the end. */
    expiresIn: expiresIn.nullable().optional(),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), {
    error: 'nothing to change: give name, plan, active, scopes or expiresIn',
  });
export type ChangeKeyRequest = z.input<typeof changeKeyRequest>;

export const keyResponse = z.object({
  id: z.string(),
  name: z.string(),
  plan: planName,
  account: z.string(),
  scopes: z.array(scopeName),
  active: z.boolean(),
  /** The first key of its chain, which an operator created. It determines plan and usage. */
  rootId: z.string(),
  expiresAt: timestamp.nullable(),
  createdAt: timestamp,
});
export type KeyResponse = z.infer<typeof keyResponse>;

/** With the secret, which is shown only once. */
export const createdKeyResponse = keyResponse.extend({ key: z.string() });
export type CreatedKeyResponse = z.infer<typeof createdKeyResponse>;

/** With the usage of its root in the open minute window and the current month. */
export const keyWithUsageResponse = keyResponse.extend({
  /** The minute of its last call. */
  lastUsedAt: timestamp.nullable(),
  usage: z.object({
    minute: z.object({ used: z.int(), limit: z.int() }),
    month: z.object({ month: z.iso.date(), calls: z.int(), links: z.int(), qrCodes: z.int() }),
  }),
});
export type KeyWithUsageResponse = z.infer<typeof keyWithUsageResponse>;

/** GET /admin/keys: a page, in the order of creation. */
export const keyPageResponse = z.object({
  keys: z.array(keyWithUsageResponse),
  /** The `after` of the next page; `null` on the last page. */
  next: z.string().nullable(),
});

const stripped = { propertyNames: { not: { enum: disallowedProperties } } };

/** POST /v2/keys */
export const makeKeyRequest = z
  .object(
    {
      name,
      scopes: optional(scopes).meta({
        description: 'A subset of the scopes of the creating key. Default: all of them.',
      }),
      expiresIn: optional(expiresIn).meta({
        description: 'Seconds. The key ends no later than the creating key.',
      }),
    },
    { error: nameMessage },
  )
  .meta(stripped);

const nothingToChange = 'Nothing to change';

/** PATCH /v2/keys/:id */
export const changeOwnKeyRequest = z
  .object(
    {
      name: optional(name),
      active: optional(z.boolean({ error: 'active must be true or false' })),
      scopes: optional(scopes).meta({ description: 'A subset of the scopes of the calling key.' }),
    },
    { error: nothingToChange },
  )
  .refine((change) => Object.values(change).some((value) => value !== null), nothingToChange)
  .meta({ ...stripped, minProperties: 1 });

const overlapMessage = 'overlapSeconds must be between 0 and 604800';

/** POST /v2/keys/:id/rotate */
export const rotateKeyRequest = z
  .object(
    {
      overlapSeconds: optional(
        z
          .number({ error: overlapMessage })
          .min(0, overlapMessage)
          .max(604_800, overlapMessage)
          .int(overlapMessage),
      ).meta({ description: 'How long earlier secrets stay valid. Default: 0.' }),
    },
    { error: overlapMessage },
  )
  .meta(stripped);

/** The query of GET /v2/keys. */
export const ownKeysQuery = z.object({
  limit: wholeNumber(1, 100, 'limit must be between 1 and 100').default(100),
  after: z
    .string({ error: 'after must be given once' })
    .regex(keyIdPattern, { error: 'after must be the id of a key' })
    .optional()
    .describe('The `next` of the previous page.'),
});

/** A key as itself and its ancestors see it. */
export const ownKeyResponse = keyResponse.omit({ account: true }).extend({
  lastUsedAt: timestamp.nullable().describe('The minute of its last call.'),
  usage: usageResponse.describe(
    'The usage of the root: a root and all its descendants count as one key.',
  ),
});
export type OwnKeyResponse = z.infer<typeof ownKeyResponse>;

/** With the secret, which is shown only once. */
export const madeKeyResponse = ownKeyResponse.extend({ key: z.string() });

/** GET /v2/keys: a page, in the order of creation. */
export const ownKeyPageResponse = z.object({
  keys: z.array(ownKeyResponse),
  next: z.string().nullable().describe('The `after` of the next page; `null` on the last page.'),
});
