import { groupBy } from '../../ops/platform/collections.js';
import { valuesByField } from '../../ops/platform/postgres/pool.js';
import { topics } from '../../schemas/events/topics.js';
import { spendingOf, type Spending } from '../../schemas/folds/key-meter.js';
import type { Projection } from '../runtime/projection.js';

const sumOf = (a: Spending, b: Spending): Spending => ({
  ...a,
  calls: a.calls + b.calls,
  links: a.links + b.links,
  qrCodes: a.qrCodes + b.qrCodes,
});

/** The monthly usage of each API key. Quotas are enforced by the ledger, not by this projection. */
export const quotas: Projection<Spending> = {
  name: 'quotas',
  topics: [topics.links.name, topics.usage.name],
  checksSequencesOf: [topics.usage.name],
  mayWaitMs: 900,
  toChange: spendingOf,
  async apply(tx, schema, spendings) {
    const byMonth = groupBy(spendings, ({ keyId, month }) => `${month} ${keyId}`);
    const sums = Array.from(byMonth.values(), (group) => group.reduce(sumOf));
    // A key has links in many partitions, so concurrent batches update the same rows. A fixed order prevents deadlocks.
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
