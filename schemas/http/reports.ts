import { z } from 'zod';
import { responseParts } from '../components.js';
import { planName } from '../plans.js';

const spent = z
  .object({
    used: z.int().min(0),
    limit: z.int().min(0).nullable().describe('`null`: no limit.'),
  })
  .register(responseParts, { id: 'Quota' });

/** GET /v2/usage */
export const usageResponse = z.object({
  plan: planName,
  calls: spent,
  links: spent,
  qrCodes: spent,
  resetDate: z.iso.date().describe('The first day of the next month, UTC.'),
});
export type UsageResponse = z.infer<typeof usageResponse>;
