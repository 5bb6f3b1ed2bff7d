import { z } from 'zod';
import { named, requestParts, responseParts } from '../components.js';
import { listOf } from '../list-of.js';
import { timestamp } from '../events/envelope.js';
import { topics } from '../events/topics.js';
import { planName } from '../plans.js';
import { inOrder, scopeName, scopeNames } from '../scopes.js';
import { createdAt, expiresIn, optional } from './fields.js';
import { text } from './link-fields.js';
import { limitUpTo, nextPage, pageLimit } from './paging.js';
import { exampleUsage, freeOfCharge, usageResponse } from './reports.js';
import { call, done, json, linksTo, routeGroup } from './route.js';
import { disallowedProperties } from './shorten.js';

/** Ids of keys are UUIDs in lower case. */
export const keyIdPattern = /^[0-9a-f-]{36}$/;

const nameMessage = 'name must have 1 to 100 characters, none of them control characters';
const name = text(
  { minLength: 1, maxLength: 100 },
  /^[^\u0000-\u001f\u007f-\u009f]*$/,
  nameMessage,
).describe('To recognise the key; names need not be unique.');

const accountMessage =
  'account must have 1 to 64 characters: letters, digits, dots, hyphens and underscores';

export const accountName = z
  .string({ error: accountMessage })
  .regex(/^[A-Za-z0-9._-]{1,64}$/, accountMessage)
  .describe('The name of an account.');

const planField = z
  .enum(planName.options, {
    error: 'plan must be one of FREE, HOBBY, INDIE, PRO',
  })
  .describe('It determines the limits of the key and its descendants.');

const scopesMessage = `scopes must be a list of ${scopeNames.join(', ')}`;
const scopes = listOf(z.enum(scopeNames, { error: scopesMessage }), {
  // Each scope may be there several times.
  ...{ max: 100, error: scopesMessage },
})
  .transform(inOrder)
  .describe('What the key may do.');

export const createKeyRequest = z
  .object(
    {
      name,
      plan: planField,
      account: accountName.default('default'),
      scopes: scopes.default(scopeNames),
      expiresIn: optional(expiresIn),
    },
    { error: nameMessage },
  )
  .register(requestParts, { id: 'CreateKeyRequest' });
export type CreateKeyRequest = z.input<typeof createKeyRequest>;

export const changeKeyRequest = z
  .object({
    name: name.optional(),
    plan: planField.optional(),
    active: z.boolean({ error: 'active must be true or false' }).optional(),
    scopes: scopes.optional(),
    expiresIn: expiresIn.nullable().optional().describe('Seconds from now; `null`: no end.'),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), {
    error: 'nothing to change: give name, plan, active, scopes or expiresIn',
  })
  .register(requestParts, { id: 'ChangeOperatorsKeyRequest' });
export type ChangeKeyRequest = z.input<typeof changeKeyRequest>;

export const keyResponse = named('OperatorsKey', {
  id: z.string().describe('For the paths of `/v2/keys`, and the `actor` of events.'),
  name: z.string().describe('To recognise the key; names need not be unique.'),
  plan: planName.describe('The plan of its root, which determines the limits.'),
  account: z.string().describe('The account whose links the key manages.'),
  scopes: z.array(scopeName).describe('What the key may do.'),
  active: z.boolean().describe('`false`: requests with the key get 401.'),
  rootId: z.string().describe('The first key of its chain, which determines plan and usage.'),
  expiresAt: timestamp.nullable().describe('Requests get 401 from then on; `null`: no end.'),
  createdAt,
});
export type KeyResponse = z.infer<typeof keyResponse>;

const secret = z.string().describe('The secret, for `Authorization: Bearer`; shown only once.');

/** A key with its secret, which is shown only once. */
export const createdKeyResponse = keyResponse
  .extend({ key: secret })
  .register(responseParts, { id: 'CreatedKey' });
export type CreatedKeyResponse = z.infer<typeof createdKeyResponse>;

const lastUsedAt = timestamp.nullable().describe('The minute of its last call; `null`: none.');

/** A key with the usage of its root in the open minute window and the current month. */
export const keyWithUsageResponse = keyResponse
  .extend({
    lastUsedAt,
    usage: z.object({
      minute: z.object({ used: z.int(), limit: z.int() }),
      month: z.object({ month: z.iso.date(), calls: z.int(), links: z.int(), qrCodes: z.int() }),
    }),
  })
  .register(responseParts, { id: 'KeyWithUsage' });
export type KeyWithUsageResponse = z.infer<typeof keyWithUsageResponse>;

export const keyPageQuery = z.object({
  limit: pageLimit.default(100),
  after: z
    .string({ error: 'after must be given once' })
    .regex(keyIdPattern, { error: 'after must be the id of a key' })
    .nullable()
    .default(null),
});

/** GET /admin/keys: a page, in the order of creation. */
export const keyPageResponse = named('OperatorsKeyPage', {
  keys: z.array(keyWithUsageResponse).describe('The keys of the page, in the order of creation.'),
  next: nextPage,
});

const stripped = { propertyNames: { not: { enum: disallowedProperties } } };

export const makeKeyRequest = z
  .object(
    {
      name,
      scopes: optional(scopes).describe(
        'A subset of the scopes of the creating key. Default: all of them.',
      ),
      expiresIn: optional(expiresIn).describe(
        'Seconds. The key ends no later than the creating key.',
      ),
    },
    { error: nameMessage },
  )
  .meta(stripped)
  .register(requestParts, { id: 'MakeKeyRequest' });

const nothingToChange = 'Nothing to change';

export const changeOwnKeyRequest = z
  .object(
    {
      name: optional(name),
      active: optional(z.boolean({ error: 'active must be true or false' })).describe(
        '`false`: requests with the key get 401 until it is `true` again.',
      ),
      scopes: optional(scopes).describe('A subset of the scopes of the calling key.'),
    },
    { error: nothingToChange },
  )
  .refine((change) => Object.values(change).some((value) => value !== null), nothingToChange)
  .meta({ ...stripped, minProperties: 1 })
  .register(requestParts, { id: 'ChangeKeyRequest' });

const overlapMessage = 'overlapSeconds must be between 0 and 604800';

export const rotateKeyRequest = z
  .object(
    {
      overlapSeconds: optional(
        z
          .number({ error: overlapMessage })
          .min(0, overlapMessage)
          .max(604_800, overlapMessage)
          .int(overlapMessage),
      ).describe('How long earlier secrets stay valid. Default: 0.'),
    },
    { error: overlapMessage },
  )
  .meta(stripped)
  .register(requestParts, { id: 'RotateKeyRequest' });

export const ownKeysQuery = z.object({
  limit: limitUpTo(100).default(100),
  after: z
    .string({ error: 'after must be given once' })
    .regex(keyIdPattern, { error: 'after must be the id of a key' })
    .optional()
    .describe('The `next` of the previous page.'),
});

/** A key as itself and its ancestors see it. */
const ownKeyResponse = keyResponse
  .omit({ account: true })
  .extend({
    suspended: z.boolean().describe('Whether an operator switched it off: no key can activate it.'),
    deactivatedAbove: z
      .boolean()
      .describe(
        'Whether a key above the calling key deactivated it: the calling key cannot activate it.',
      ),
    lastUsedAt,
    usage: usageResponse.describe(
      'The usage of the root: a root and all its descendants count as one key.',
    ),
  })
  .register(responseParts, { id: 'ApiKey' });
export type OwnKeyResponse = z.infer<typeof ownKeyResponse>;

/** A key with its secret, which is shown only once. */
const madeKeyResponse = ownKeyResponse
  .extend({ key: secret })
  .register(responseParts, { id: 'MadeApiKey' });

/** GET /v2/keys: a page, in the order of creation. */
export const ownKeyPageResponse = named('ApiKeyPage', {
  keys: z.array(ownKeyResponse).describe('The keys of the page, in the order of creation.'),
  next: nextPage,
});

const managed =
  'The key itself, or a descendant whose scopes and end are within its own; any other key is 404.';

const key = {
  id: '019a3c1e-7b31-7c41-9d5e-2f6b8a1c4d71',
  name: 'Reader',
  plan: 'HOBBY',
  scopes: ['links:read', 'stats:read'],
  active: true,
  suspended: false,
  deactivatedAbove: false,
  rootId: '019a3c1e-7b20-7c41-9d5e-2f6b8a1c4d70',
  expiresAt: '2026-05-02T12:00:00.000Z',
  createdAt: '2026-05-01T12:00:00.000Z',
  lastUsedAt: null,
  usage: exampleUsage,
};

const created = { ...key, key: `ll_${'x'.repeat(38)}` };

export const keyRoutes = routeGroup(
  {
    ...{ tag: 'Keys', scope: 'keys:manage', metered: false, topic: topics.accounts.name },
    parameters: { id: keyResponse.shape.id },
  },
  {
    getKeys: call('GET /keys', 'List the key and its descendants', {
      description: `Without revoked keys. ${freeOfCharge}`,
      query: ownKeysQuery,
      returns: {
        200: json('A page of keys.', ownKeyPageResponse, { keys: { keys: [key], next: null } }),
      },
    }),
    makeKey: call('POST /keys', 'Create a key', {
      description: `The key shares the limits of its creator. At most 100 keys per account. ${freeOfCharge}`,
      body: makeKeyRequest,
      examples: {
        reader: { name: 'Reader', scopes: ['links:read', 'stats:read'], expiresIn: 86_400 },
      },
      returns: {
        201: json(
          'The key. Its secret is shown only once.',
          madeKeyResponse,
          { key: created },
          linksTo('id', 'changeKey', 'rotateKey', 'revokeKey'),
        ),
      },
    }),
    changeKey: call('PATCH /keys/:id', 'Change a key', {
      description: `${managed} ${freeOfCharge}`,
      body: changeOwnKeyRequest,
      examples: {
        off: { active: false },
        more: { name: 'Stats reader', scopes: ['stats:read'] },
      },
      returns: { 200: json('The changed key.', ownKeyResponse, { key }) },
    }),
    revokeKey: call('DELETE /keys/:id', 'Revoke a key permanently', {
      description: `Its descendants stay valid. ${managed} ${freeOfCharge}`,
      returns: { 204: done('The key is revoked.') },
    }),
    rotateKey: call('POST /keys/:id/rotate', 'Replace the secret of a key', {
      description: `The id, limits and usage stay. Earlier secrets end after the overlap. ${managed} ${freeOfCharge}`,
      body: rotateKeyRequest,
      examples: { hour: { overlapSeconds: 3_600 } },
      returns: {
        200: json('The new key. Its secret is shown only once.', madeKeyResponse, { key: created }),
      },
    }),
  },
);
