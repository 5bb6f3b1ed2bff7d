import { z } from 'zod';
import { planName } from '../plans.js';
import { eventType } from './event-type.js';

/** Subject: the key's id. */
export const ApiKeyCreated = eventType({
  name: 'ApiKeyCreated',
  topic: 'accounts',
  version: 1,
  data: z.strictObject({
    name: z.string(),
    plan: planName,
    account: z.string(),
    /** SHA-256 of the key, hexadecimal; the key itself is kept nowhere. */
    hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .meta({ secret: true }),
  }),
});

/** Subject: the key's id. The values after the change, changed or not. */
export const ApiKeyChanged = eventType({
  name: 'ApiKeyChanged',
  topic: 'accounts',
  version: 1,
  data: z.strictObject({ name: z.string(), plan: planName, active: z.boolean() }),
});

/** Subject: the key's id. For good. */
export const ApiKeyRevoked = eventType({
  name: 'ApiKeyRevoked',
  topic: 'accounts',
  version: 1,
  data: z.strictObject({}),
});

/** Subject: the alias, lower case. One account may use it although it is reserved. */
export const AliasOverrideGranted = eventType({
  name: 'AliasOverrideGranted',
  topic: 'accounts',
  version: 1,
  data: z.strictObject({ account: z.string() }),
});

/** Subject: the alias, lower case. */
export const AliasOverrideRevoked = eventType({
  name: 'AliasOverrideRevoked',
  topic: 'accounts',
  version: 1,
  data: z.strictObject({}),
});
