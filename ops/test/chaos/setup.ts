import { generousPlansFile } from '../support/plans.js';
import { issueKey, type IssuedKey, type Product } from '../support/product.js';

/** The product under test: one process, or several nodes. */
export type Target = Pick<Product, 'apis' | 'edges' | 'admin' | 'adminToken' | 'dataDir'>;

/** Limits of the plan FREE, which are tested; PRO is unlimited. */
export const freePlan = { requestsPerMinute: 60, monthlyLinks: 35 };

export const writePlans = (dir: string): Promise<string> => generousPlansFile(dir, freePlan);

/** The keys that the load uses. */
export interface LoadKeys {
  /** Unlimited. */
  readonly pro: IssuedKey;
  /** FREE: for the per-minute limit. */
  readonly hammer: IssuedKey;
  /** FREE: for the monthly links. */
  readonly small: IssuedKey;
}

export const issueLoadKeys = async (target: Target): Promise<LoadKeys> => ({
  pro: await issueKey(target, { plan: 'PRO' }),
  hammer: await issueKey(target, { plan: 'FREE' }),
  small: await issueKey(target, { plan: 'FREE' }),
});

export const bearer = ({ key }: { readonly key: string }): Record<string, string> => ({
  Authorization: `Bearer ${key}`,
});
