import { z } from 'zod';

/** In ascending order: a feature that needs HOBBY is included in INDIE and PRO, too. */
export const planNames = ['FREE', 'HOBBY', 'INDIE', 'PRO'] as const;

export const planName = z.enum(planNames);

export type PlanName = z.infer<typeof planName>;

const count = z.int().min(1);
/** `null`: no monthly limit. */
const quota = z.int().min(0).nullable();

const plan = z.strictObject({
  requestsPerMinute: count,
  monthlyCalls: quota,
  monthlyLinks: quota,
  monthlyQrCodes: quota,
});

export type Plan = z.infer<typeof plan>;

/** The lowest plan that includes each gated feature. */
const gates = z.strictObject({ customAlias: planName, passwordProtection: planName });

export type GatedFeature = keyof z.infer<typeof gates>;

/** The schema of `PLANS_FILE`. */
export const planTable = z.strictObject({
  plans: z.strictObject({ FREE: plan, HOBBY: plan, INDIE: plan, PRO: plan }),
  gates,
});

export type PlanTable = z.infer<typeof planTable>;

/** The table of the specification. */
export const defaultPlanTable: PlanTable = {
  plans: {
    FREE: { requestsPerMinute: 60, monthlyCalls: 2_000, monthlyLinks: 35, monthlyQrCodes: 35 },
    HOBBY: { requestsPerMinute: 300, monthlyCalls: 25_000, monthlyLinks: 350, monthlyQrCodes: 350 },
    INDIE: {
      requestsPerMinute: 1_000,
      monthlyCalls: 150_000,
      monthlyLinks: 1_800,
      monthlyQrCodes: 1_800,
    },
    PRO: {
      requestsPerMinute: 5_000,
      monthlyCalls: 500_000,
      monthlyLinks: 3_000,
      monthlyQrCodes: 3_000,
    },
  },
  gates: { customAlias: 'HOBBY', passwordProtection: 'INDIE' },
};

/** Whether a plan has a gated feature. */
export const planHas = (table: PlanTable, plan: PlanName, feature: GatedFeature): boolean =>
  planNames.indexOf(plan) >= planNames.indexOf(table.gates[feature]);
