import { z } from 'zod';
import { defineEvents } from './event-type.js';

/** What can be switched off for everybody. */
export const platformFeature = z.enum(['shortening', 'aliases', 'passwords', 'expiration', 'qr']);

/** Subject: `platform`. */
export const platformEvents = defineEvents('platform', {
  MaintenanceSwitched: { version: 1, data: z.strictObject({ on: z.boolean() }) },
  FeatureSwitched: {
    version: 1,
    data: z.strictObject({ feature: platformFeature, on: z.boolean() }),
  },
});
