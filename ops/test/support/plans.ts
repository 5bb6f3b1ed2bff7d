import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { PlanTable } from '../../../schemas/plans.js';

const generous = {
  requestsPerMinute: 1_000_000,
  monthlyCalls: null,
  monthlyLinks: null,
  monthlyQrCodes: null,
  domains: 1_000,
};
const plans: PlanTable = {
  plans: { FREE: generous, HOBBY: generous, INDIE: generous, PRO: generous },
  gates: { customAlias: 'HOBBY', passwordProtection: 'INDIE' },
};

/** Writes a PLANS_FILE without limits into the folder: with limits, fuzzers would mostly get 429. */
export const generousPlansFile = async (dir: string): Promise<string> => {
  const file = path.join(dir, 'plans.json');
  await writeFile(file, JSON.stringify(plans));
  return file;
};
