import { z } from 'zod';
import { eventType } from './event-type.js';

/** What can be switched off for everybody. */
export const platformFeature = z.enum(['shortening', 'aliases', 'passwords', 'expiration', 'qr']);

/** Subject: `platform`. */
export const MaintenanceSwitched = eventType({
  name: 'MaintenanceSwitched',
  topic: 'platform',
  version: 1,
  data: z.strictObject({ on: z.boolean() }),
});

/** Subject: `platform`. */
export const FeatureSwitched = eventType({
  name: 'FeatureSwitched',
  topic: 'platform',
  version: 1,
  data: z.strictObject({ feature: platformFeature, on: z.boolean() }),
});
