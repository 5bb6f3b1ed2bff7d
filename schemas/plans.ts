import { z } from 'zod';

/** In ascending order: a feature that needs HOBBY is included in INDIE and PRO, too. */
export const planNames = ['FREE', 'HOBBY', 'INDIE', 'PRO'] as const;

export const planName = z.enum(planNames);

export type PlanName = z.infer<typeof planName>;

const count = z.int().min(1);
/** `null`: no monthly limit. */
const quota = z.int().min(0).nullable();

/** @param domains the default, for files from before there were domains */
const plan = (domains: number) =>
  z.strictObject({
    requestsPerMinute: count,
    monthlyCalls: quota,
    monthlyLinks: quota,
    monthlyQrCodes: quota,
    /** Of an account, including claims. */
    domains: z.int().min(0).default(domains),
    /** Of generated codes, instead of CODE_LENGTH. */
    codeLength: z.int().min(4).max(32).exactOptional(),
  });

const plans = z.strictObject({ FREE: plan(0), HOBBY: plan(1), INDIE: plan(5), PRO: plan(50) });

export type Plan = z.infer<typeof plans>[PlanName];

/** The lowest plan that includes each gated feature. */
const gates = z.strictObject({ customAlias: planName, passwordProtection: planName });

export type GatedFeature = keyof z.infer<typeof gates>;

/** The schema of `PLANS_FILE`. */
export const planTable = z.strictObject({
  plans,
  gates,
});

export type PlanTable = z.infer<typeof planTable>;

/** The table of the specification. */
export const defaultPlanTable: PlanTable = {
  plans: {
    FREE: {
      requestsPerMinute: 60,
      monthlyCalls: 2_000,
      monthlyLinks: 35,
      monthlyQrCodes: 35,
      domains: 0,
    },
    HOBBY: {
      requestsPerMinute: 300,
      monthlyCalls: 25_000,
      monthlyLinks: 350,
      monthlyQrCodes: 350,
      domains: 1,
    },
    INDIE: {
      requestsPerMinute: 1_000,
      monthlyCalls: 150_000,
      monthlyLinks: 1_800,
      monthlyQrCodes: 1_800,
      domains: 5,
    },
    PRO: {
      requestsPerMinute: 5_000,
      monthlyCalls: 500_000,
      monthlyLinks: 3_000,
      monthlyQrCodes: 3_000,
      domains: 50,
    },
  },
  gates: { customAlias: 'HOBBY', passwordProtection: 'INDIE' },
};

const unlimited: Plan = {
  ...defaultPlanTable.plans.PRO,
  ...{ monthlyCalls: null, monthlyLinks: null, monthlyQrCodes: null },
};

/** For self-hosted installations: every plan has every feature, no monthly limit, and the other limits of PRO. */
export const unlimitedPlanTable: PlanTable = {
  plans: { FREE: unlimited, HOBBY: unlimited, INDIE: unlimited, PRO: unlimited },
  gates: { customAlias: 'FREE', passwordProtection: 'FREE' },
};

/** The lowest plan with domains; `null`: no plan has any. */
export const firstPlanWithDomains = ({ plans: table }: PlanTable): PlanName | null =>
  planNames.find((name) => table[name].domains > 0) ?? null;

export const planHas = (table: PlanTable, plan: PlanName, feature: GatedFeature): boolean =>
  planNames.indexOf(plan) >= planNames.indexOf(table.gates[feature]);
