import { z } from 'zod';
import { timestamp } from '../events/envelope.js';
import { planName } from '../plans.js';
import { shortCode } from './shorten.js';

/** GET /v2/stats/:shortCode */
export const statsResponse = z.object({
  shortCode,
  url: z.string(),
  clickCount: z.int().min(0).describe('Visits that were redirected; bots and HEAD are none.'),
  createdAt: timestamp,
  lastAccessed: timestamp.nullable(),
  expiresAt: timestamp.nullable(),
  maxClicks: z.int().min(1).nullable(),
});
export type StatsResponse = z.infer<typeof statsResponse>;

const spent = z.object({
  used: z.int().min(0),
  limit: z.int().min(0).nullable().describe('`null` where the plan has none.'),
});

/** GET /v2/usage */
export const usageResponse = z.object({
  plan: planName,
  calls: spent,
  links: spent,
  qrCodes: spent,
  resetDate: z.iso.date().describe('The first day of the next month, UTC.'),
});
export type UsageResponse = z.infer<typeof usageResponse>;
