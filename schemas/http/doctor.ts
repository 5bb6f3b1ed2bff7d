import { z } from 'zod';
import { named } from '../components.js';
import { call, found, type OperatorRows } from './route.js';

const finding = named('Finding', {
  check: z.string().describe('What was checked.'),
  state: z.enum(['ok', 'warning', 'failed']),
  text: z.string().describe('What was found.'),
  remedy: z.string().nullable().describe('What to do; `null`: nothing.'),
});
export type Finding = z.infer<typeof finding>;

/** Far more than the checks find, except in a log with hundreds of damaged partitions. */
export const maxFindings = 500;

const report = named('DoctorReport', {
  findings: z.array(finding).max(maxFindings).describe('In the order of the checks.'),
});
export type DoctorReport = z.infer<typeof report>;

/** GET /admin/doctor */
export const doctorRoutes = {
  examine: call('GET /doctor', 'Examine the installation and what it depends on', {
    returns: found(report),
  }),
} satisfies OperatorRows;
