import { writeFile } from 'node:fs/promises';
import { defaultPlanTable } from '../../../schemas/plans.js';
import { issueKey, type IssuedKey, type Product } from '../support/product.js';

/** What the load is made on, and where promises are checked: one process, or nodes that share everything. */
export type Target = Pick<Product, 'apis' | 'edges' | 'admin' | 'adminToken' | 'dataDir'>;

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

/** The keys that the load uses. */
export interface LoadKeys {
  /** Its plan has no limit that the load could reach. */
  readonly pro: IssuedKey;
  /** FREE: for the per-minute limit. */
  readonly hammer: IssuedKey;
  /** FREE: for the monthly links. */
  readonly small: IssuedKey;
  /** Its name is changed, over and over. */
  readonly renamed: IssuedKey;
  /** In an account of its own; it makes, changes, rotates and revokes keys. */
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
