import { defaultPlanTable } from '../../schemas/plans.js';
import type { TestNode } from '../../ops/test/support/node.js';
import { createAdmission, type Admission } from '../admission/admission.js';
import type { Admitted } from '../admission/command.js';
import type { AdmittedCall } from '../admission/command.js';
import type { TestKey } from './keys.js';
import { countTypes, onBoth } from './nodes.js';

/** New admissions of two nodes, with empty caches. */
export const admissionsOf = (
  nodes: readonly [TestNode, TestNode],
  table = defaultPlanTable,
): readonly [Admission, Admission] =>
  onBoth(nodes, ({ pool, clock }) => createAdmission(pool, clock, table));

/** The number of calls with each outcome. */
export const countOutcomes = (admitted: readonly Admitted[]): Record<string, number> =>
  countTypes(admitted.map(({ admission }) => admission));

export const callOf = ({ admission }: Admitted): AdmittedCall => {
  if (admission.type === 'keyInvalid' || !admission.call) {
    throw new Error(`The outcome ${admission.type} has no call`);
  }
  return admission.call;
};

/** Metered calls of a key that no event contains yet. */
export const openCallsOf = async (
  { pool }: Pick<TestNode, 'pool'>,
  { id }: TestKey,
): Promise<number | undefined> => {
  const { rows } = await pool.query<{ calls: number }>(
    `SELECT coalesce(sum(calls), 0)::bigint AS calls FROM ledger.usage_minutes WHERE key_id = $1`,
    [id],
  );
  return rows[0]?.calls;
};
