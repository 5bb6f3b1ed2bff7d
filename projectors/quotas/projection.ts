import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import type { Projection } from '../runtime/projection.js';

/** What a key spent in a month. */
interface Spending {
  readonly keyId: string;
  /** The month's first day, UTC: `2026-05-01`. */
  readonly month: string;
  calls: number;
  links: number;
  qrCodes: number;
}

const monthOf = (timestamp: string): string => `${timestamp.slice(0, 7)}-01`;

/** What the events add to each key's months, in one order for all who write them. */
const sumUp = (events: readonly LinklogEvent[]): readonly Spending[] => {
  const sums = new Map<string, Spending>();
  const sumOf = (keyId: string, time: string): Spending => {
    const month = monthOf(time);
    const id = `${month} ${keyId}`;
    let sum = sums.get(id);
    if (!sum) sums.set(id, (sum = { keyId, month, calls: 0, links: 0, qrCodes: 0 }));
    return sum;
  };
  for (const event of events) {
    if (event.type === 'linklog.LinkCreated.v1') {
      sumOf(event.data.keyId, event.time).links += 1;
    } else if (event.type === 'linklog.CallsMetered.v1') {
      sumOf(event.subject, event.data.minute).calls += event.data.calls;
    } else if (event.type === 'linklog.QrRendered.v1') {
      sumOf(event.subject, event.time).qrCodes += 1;
    }
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
