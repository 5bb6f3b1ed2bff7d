import { writeFile } from 'node:fs/promises';
import { defaultPlanTable } from '../../../schemas/plans.js';
import { issueKey, type IssuedKey, type Product } from '../support/product.js';

/** The product under test: one process, or several nodes. */
export type Target = Pick<Product, 'apis' | 'edges' | 'admin' | 'adminToken' | 'dataDir'>;

/** PRO, which is used by the load, is unlimited; FREE has its limits tested. */
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

/** Writes the plans of the load. */
export const writePlans = (file: string): Promise<void> => writeFile(file, JSON.stringify(plans));

/** The keys that the load uses. */
export interface LoadKeys {
  /** Unlimited. */
  readonly pro: IssuedKey;
  /** FREE: for the per-minute limit. */
  readonly hammer: IssuedKey;
  /** FREE: for the monthly links. */
  readonly small: IssuedKey;
  /** Renamed repeatedly. */
  readonly renamed: IssuedKey;
  /** In another account: creates, changes, rotates and revokes keys. */
  readonly root: IssuedKey;
}

export const issueLoadKeys = async (target: Target): Promise<LoadKeys> => ({
  pro: await issueKey(target, { plan: 'PRO' }),
  hammer: await issueKey(target, { plan: 'FREE' }),
  small: await issueKey(target, { plan: 'FREE' }),
  renamed: await issueKey(target, { plan: 'FREE' }),
  root: await issueKey(target, { plan: 'PRO', account: 'chaos' }),
});

export const bearer = ({ key }: { readonly key: string }): Record<string, string> => ({
  Authorization: `Bearer ${key}`,
});
