import { groupBy } from '../../ops/platform/group-by.js';
import { valuesByField } from '../../ops/platform/postgres/pool.js';
import { topics } from '../../schemas/events/topics.js';
import { spendingOf, type Spending } from '../../schemas/folds/key-meter.js';
import type { Projection } from '../runtime/projection.js';

const sumOf = (one: Spending, other: Spending): Spending => ({
  ...one,
  calls: one.calls + other.calls,
  links: one.links + other.links,
  qrCodes: one.qrCodes + other.qrCodes,
});

/** What each API key spent in each month. The ledger decides about quotas, never this projection. */
export const quotas: Projection<Spending> = {
  name: 'quotas',
  topics: [topics.links.name, topics.usage.name],
  checksSequencesOf: [topics.usage.name],
  mayWaitMs: 1_000,
  factOf: spendingOf,
  async apply(tx, schema, spendings) {
    const ofMonths = groupBy(spendings, ({ keyId, month }) => `${month} ${keyId}`);
    const sums = Array.from(ofMonths.values(), (all) => all.reduce(sumOf));
    // A key has links in many partitions, so batches update the same rows: in one order, or they
    // would deadlock.
    await tx.query({
      name: `quotas-add-${schema}`,
      text: `INSERT INTO ${schema}.months AS m (key_id, month, calls, links, qr_codes)
       SELECT * FROM unnest($1::text[], $2::date[], $3::bigint[], $4::bigint[], $5::bigint[])
         AS i (key_id, month, calls, links, qr_codes)
       ORDER BY key_id COLLATE "C", month
       ON CONFLICT (key_id, month) DO UPDATE SET
         calls = m.calls + excluded.calls,
         links = m.links + excluded.links,
         qr_codes = m.qr_codes + excluded.qr_codes`,
      values: valuesByField(sums, 'keyId', 'month', 'calls', 'links', 'qrCodes'),
    });
  },
};
