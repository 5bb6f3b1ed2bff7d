import { z } from 'zod';
import { timestamp } from '../events/envelope.js';
import { planName } from '../plans.js';

/** GET /v2/stats/:shortCode */
export const statsResponse = z.object({
  shortCode: z.string(),
  url: z.string(),
  clickCount: z.int(),
  createdAt: timestamp,
  lastAccessed: timestamp.nullable(),
  expiresAt: timestamp.nullable(),
  maxClicks: z.int().nullable(),
});
export type StatsResponse = z.infer<typeof statsResponse>;

/** `limit` is null where the plan has none. */
const spent = z.object({ used: z.int(), limit: z.int().nullable() });

/** GET /v2/usage */
export const usageResponse = z.object({
  plan: planName,
  calls: spent,
  links: spent,
  qrCodes: spent,
  /** The first day of the next month, UTC. */
  resetDate: z.iso.date(),
});
export type UsageResponse = z.infer<typeof usageResponse>;
