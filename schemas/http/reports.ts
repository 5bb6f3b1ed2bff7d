import { z } from 'zod';
import { named } from '../components.js';
import { planName } from '../plans.js';
import { call, json, routeGroup } from './route.js';

const spent = named('Quota', {
  used: z.int().min(0).describe('In the current month (UTC).'),
  limit: z.int().min(0).nullable().describe('`null`: no limit.'),
});

export const usageResponse = named('Usage', {
  plan: planName.describe('The plan of the root key.'),
  calls: spent.describe('Calls that count toward the month.'),
  links: spent.describe('Created links.'),
  qrCodes: spent.describe('Rendered QR codes.'),
  resetDate: z.iso.date().describe('The first day of the next month, UTC.'),
});
export type UsageResponse = z.infer<typeof usageResponse>;

export const freeOfCharge = 'Counts toward the limit per minute, but not toward the monthly calls.';

export const exampleUsage = {
  plan: 'HOBBY',
  calls: { used: 1_200, limit: 25_000 },
  links: { used: 40, limit: 350 },
  qrCodes: { used: 3, limit: 350 },
  resetDate: '2026-06-01',
};

export const usageRoutes = routeGroup(
  { tag: 'Reports', scope: null, metered: false },
  {
    getUsage: call('GET /usage', 'Get the usage of the current month', {
      description: freeOfCharge,
      returns: { 200: json('Usage and limits.', usageResponse, { usage: exampleUsage }) },
    }),
  },
);
