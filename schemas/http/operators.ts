import { z } from 'zod';
import { accountName } from './keys.js';

const flag = (name: string) => z.boolean({ error: `${name} must be true or false` }).optional();

/** PATCH /admin/platform; what is left out stays as it is. */
export const switchPlatformRequest = z
  .strictObject(
    {
      maintenance: flag('maintenance'),
      features: z
        .strictObject(
          {
            shortening: flag('features.shortening'),
            aliases: flag('features.aliases'),
            passwords: flag('features.passwords'),
            expiration: flag('features.expiration'),
            qr: flag('features.qr'),
          },
          {
            error: 'features may hold shortening, aliases, passwords, expiration and qr',
          },
        )
        .optional(),
    },
    { error: 'the body may hold maintenance and features' },
  )
  .refine(
    ({ maintenance, features }) =>
      maintenance !== undefined ||
      Object.values(features ?? {}).some((value) => value !== undefined),
    { error: 'nothing to switch: give maintenance or features' },
  );

/** GET and PATCH /admin/platform */
export const platformResponse = z.object({
  maintenance: z.boolean(),
  features: z.object({
    shortening: z.boolean(),
    aliases: z.boolean(),
    passwords: z.boolean(),
    expiration: z.boolean(),
    qr: z.boolean(),
  }),
});
export type PlatformResponse = z.infer<typeof platformResponse>;

const reasonMessage = 'reason must have 1 to 500 characters, none of them control characters';

/** POST /admin/links/:shortCode/block and …/unblock */
export const blockRequest = z.object(
  {
    reason: z
      .string({ error: reasonMessage })
      .regex(/^[^\u0000-\u001f\u007f-\u009f]{1,500}$/, reasonMessage)
      .refine((reason) => reason.isWellFormed(), reasonMessage),
  },
  { error: reasonMessage },
);

export const blockResponse = z.object({ shortCode: z.string(), blocked: z.boolean() });
export type BlockResponse = z.infer<typeof blockResponse>;

/** PUT /admin/reserved-aliases/:alias/override */
export const aliasOverrideRequest = z.object(
  { account: accountName },
  { error: 'account is needed' },
);
