import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Plan, PlanTable } from '../../../schemas/plans.js';

const generous = {
  requestsPerMinute: 1_000_000,
  monthlyCalls: null,
  monthlyLinks: null,
  monthlyQrCodes: null,
  domains: 1_000,
};

/**
 * Writes a PLANS_FILE without limits into the folder: with limits, fuzzers would mostly get 429.
 *
 * @param limits those of the plan FREE
 */
export const generousPlansFile = async (
  dir: string,
  limits: Partial<Plan> = {},
): Promise<string> => {
  const plans: PlanTable = {
    plans: { FREE: { ...generous, ...limits }, HOBBY: generous, INDIE: generous, PRO: generous },
    gates: { customAlias: 'HOBBY', passwordProtection: 'INDIE' },
  };
  const file = path.join(dir, 'plans.json');
  await writeFile(file, JSON.stringify(plans));
  return file;
};
