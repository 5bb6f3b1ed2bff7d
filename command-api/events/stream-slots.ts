import { advisoryLocks } from '../../ops/advisory-locks.js';
import { newId } from '../../ops/platform/new-id.js';
import { transaction, type Pool } from '../../ops/platform/postgres/pool.js';

/** Streams of a root key and its descendants, on all nodes. */
export const maxStreams = 10;

/** How long a slot stays taken after its process was killed (s). */
const leaseSeconds = 30;

/** Limits the streams of a root key with leases in PostgreSQL. */
export const createStreamSlots = (pool: Pool) => ({
  /** Takes a slot. Returns its ID; `null` if all are taken. */
  take: (rootId: string): Promise<string | null> =>
    transaction(pool, async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [
        ...[advisoryLocks.streams, rootId],
      ]);
      const { rows } = await tx.query<{ id: string }>(
        `WITH expired AS (
           DELETE FROM delivery.streams WHERE root_id = $2 AND leased_until <= clock_timestamp()
         )
         INSERT INTO delivery.streams (id, root_id, leased_until)
         SELECT $1, $2, clock_timestamp() + $3 * interval '1 second'
         WHERE (SELECT count(*) FROM delivery.streams
                WHERE root_id = $2 AND leased_until > clock_timestamp()) < $4
         RETURNING id`,
        [newId(), rootId, leaseSeconds, maxStreams],
      );
      return rows[0]?.id ?? null;
    }),

  /** Renews slots. A crash of PostgreSQL empties the table, so they are inserted again. */
  async renew(slots: readonly { readonly id: string; readonly rootId: string }[]): Promise<void> {
    await pool.query({
      name: 'streams-renew',
      text: `INSERT INTO delivery.streams (id, root_id, leased_until)
             SELECT id, root_id, clock_timestamp() + $3 * interval '1 second'
             FROM unnest($1::uuid[], $2::text[]) AS slots (id, root_id) ORDER BY id
             ON CONFLICT (id) DO UPDATE SET leased_until = excluded.leased_until`,
      values: [slots.map(({ id }) => id), slots.map(({ rootId }) => rootId), leaseSeconds],
    });
  },

  async release(id: string): Promise<void> {
    await pool.query({
      name: 'streams-release',
      text: 'DELETE FROM delivery.streams WHERE id = $1',
      values: [id],
    });
  },
});

export type StreamSlots = ReturnType<typeof createStreamSlots>;
