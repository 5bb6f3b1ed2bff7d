import { rootIdOf } from '../../schemas/folds/api-key.js';
import type { KeyResponse, KeyWithUsageResponse, OwnKeyResponse } from '../../schemas/http/keys.js';
import type { UsageResponse } from '../../schemas/http/reports.js';
import type { PlanTable } from '../../schemas/plans.js';
import { isDeactivatedBy } from './command.js';
import type { KeyWithUsage } from './handler.js';

type KeyWithPlan = Pick<KeyWithUsage, 'state' | 'plan'>;

const keyOf = ({ state: { status, key }, plan }: KeyWithPlan) => ({
  id: key.id,
  name: key.name,
  plan,
  scopes: [...key.scopes],
  active: status === 'active',
  rootId: rootIdOf(key),
  expiresAt: key.expiresAt?.toISOString() ?? null,
  createdAt: key.createdAt.toISOString(),
});

/** A key as its account sees it. @param usage of its root @param callerId a key, or a person, who is below no key */
export const ownKeyOf = (
  found: KeyWithUsage,
  usage: UsageResponse,
  callerId: string,
): OwnKeyResponse => {
  const { ancestors } = found.state.key;
  const above = ancestors.slice(0, Math.max(0, ancestors.indexOf(callerId)));
  return {
    ...keyOf(found),
    suspended: found.state.status === 'suspended',
    deactivatedAbove: isDeactivatedBy(above, found.state),
    lastUsedAt: found.lastUsedAt?.toISOString() ?? null,
    usage,
  };
};

export const operatorsKeyOf = (found: KeyWithPlan): KeyResponse => ({
  ...keyOf(found),
  account: found.state.key.account,
});

export const keyWithUsageOf = (found: KeyWithUsage, { plans }: PlanTable): KeyWithUsageResponse => {
  const { plan, lastUsedAt, minuteCalls, month, calls, links, qrCodes } = found;
  const limit = plans[plan].requestsPerMinute;
  return {
    ...operatorsKeyOf(found),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
    usage: { minute: { used: minuteCalls, limit }, month: { month, calls, links, qrCodes } },
  };
};
