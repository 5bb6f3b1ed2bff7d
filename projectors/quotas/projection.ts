import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import { spendingOf, type Spending } from '../../schemas/folds/key-meter.js';
import type { Projection } from '../runtime/projection.js';

/** What the events add to each key's months, in one order for all who write them. */
const sumUp = (events: readonly LinklogEvent[]): readonly Spending[] => {
  const sums = new Map<string, Spending>();
  for (const event of events) {
    const spending = spendingOf(event);
    if (spending === null) continue;
    const id = `${spending.month} ${spending.keyId}`;
    const sum = sums.get(id);
    sums.set(
      id,
      sum
        ? {
            ...sum,
            calls: sum.calls + spending.calls,
            links: sum.links + spending.links,
            qrCodes: sum.qrCodes + spending.qrCodes,
          }
        : spending,
    );
  }
  return [...sums.values()];
};

/** What each API key spent in each month. Nothing is decided by it: the ledger counts exactly. */
export const quotas: Projection = {
  name: 'quotas',
  topics: [topics.links.name, topics.usage.name],
  async apply(tx, schema, events) {
    const sums = sumUp(events);
    if (sums.length === 0) return;
    // A key's links are in many partitions, so batches meet in a row: ordered, lest they deadlock.
    await tx.query(
      `INSERT INTO ${schema}.months AS m (key_id, month, calls, links, qr_codes)
       SELECT * FROM unnest($1::text[], $2::date[], $3::bigint[], $4::bigint[], $5::bigint[])
         AS i (key_id, month, calls, links, qr_codes)
       ORDER BY key_id COLLATE "C", month
       ON CONFLICT (key_id, month) DO UPDATE SET
         calls = m.calls + excluded.calls,
         links = m.links + excluded.links,
         qr_codes = m.qr_codes + excluded.qr_codes`,
      [
        sums.map(({ keyId }) => keyId),
        sums.map(({ month }) => month),
        sums.map(({ calls }) => calls),
        sums.map(({ links }) => links),
        sums.map(({ qrCodes }) => qrCodes),
      ],
    );
  },
};
