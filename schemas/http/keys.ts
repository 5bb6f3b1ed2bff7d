import { z } from 'zod';
import { timestamp } from '../events/envelope.js';
import { planName } from '../plans.js';
import { inOrder, scopeName, scopeNames } from '../scopes.js';
import { expiresIn, optional } from './fields.js';

/** Ids of keys are UUIDs in lower case. */
export const keyIdPattern = /^[0-9a-f-]{36}$/;

const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/;

const nameMessage = 'name must have 1 to 100 characters, none of them control characters';
const name = z
  .string({ error: nameMessage })
  .refine(
    (value) => value.length >= 1 && value.length <= 100 && !controlCharacters.test(value),
    nameMessage,
  )
  .refine((value) => value.isWellFormed(), nameMessage);

const accountMessage =
  'account must have 1 to 64 characters: letters, digits, dots, hyphens and underscores';

export const accountName = z
  .string({ error: accountMessage })
  .regex(/^[A-Za-z0-9._-]{1,64}$/, accountMessage);

const planField = z.enum(planName.options, {
  error: 'plan must be one of FREE, HOBBY, INDIE, PRO',
});

const scopesMessage = `scopes must be a list of ${scopeNames.join(', ')}`;
const scopes = z
  .array(z.enum(scopeNames, { error: scopesMessage }), { error: scopesMessage })
  .transform(inOrder);

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
    /** `null`: it has no end any more. */
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
  /** The key at the start of its chain, which operators made: its plan and usage are that key's. */
  rootId: z.string(),
  expiresAt: timestamp.nullable(),
  createdAt: timestamp,
});
export type KeyResponse = z.infer<typeof keyResponse>;

/** With the key itself: shown this once. */
export const createdKeyResponse = keyResponse.extend({ key: z.string() });
export type CreatedKeyResponse = z.infer<typeof createdKeyResponse>;

/** With what its root has spent in the open minute window and the current month. */
export const keyWithUsageResponse = keyResponse.extend({
  /** The minute of its last call. */
  lastUsedAt: timestamp.nullable(),
  usage: z.object({
    minute: z.object({ used: z.int(), limit: z.int() }),
    month: z.object({ month: z.iso.date(), calls: z.int(), links: z.int(), qrCodes: z.int() }),
  }),
});
export type KeyWithUsageResponse = z.infer<typeof keyWithUsageResponse>;

/** GET /admin/keys: a page, in the order of their making. */
export const keyPageResponse = z.object({
  keys: z.array(keyWithUsageResponse),
  /** `after` of the next page; `null` on the last one. */
  next: z.string().nullable(),
});
