import { z } from 'zod';
import { planName } from '../plans.js';
import { defineEvents } from './event-type.js';

/** Subject: the key's id. */
export const keyEvents = defineEvents('accounts', {
  ApiKeyCreated: {
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
  },
  /** The values after the change, changed or not. */
  ApiKeyChanged: {
    version: 1,
    data: z.strictObject({ name: z.string(), plan: planName, active: z.boolean() }),
  },
  /** For good. */
  ApiKeyRevoked: { version: 1, data: z.strictObject({}) },
});

/** Subject: the alias, lower case. */
export const overrideEvents = defineEvents('accounts', {
  /** One account may use it although it is reserved. */
  AliasOverrideGranted: { version: 1, data: z.strictObject({ account: z.string() }) },
  AliasOverrideRevoked: { version: 1, data: z.strictObject({}) },
});
