import { writeFile } from 'node:fs/promises';
import { defaultPlanTable } from '../../../schemas/plans.js';

/** FREE is what is tested; PRO carries the load, so it has no limit here. */
const plans = {
  ...defaultPlanTable,
  plans: {
    ...defaultPlanTable.plans,
    PRO: {
      requestsPerMinute: 100_000_000,
      monthlyCalls: null,
      monthlyLinks: null,
      monthlyQrCodes: null,
    },
  },
};

/** Writes the table of plans under which the load is made. */
export const writePlans = (file: string): Promise<void> => writeFile(file, JSON.stringify(plans));
