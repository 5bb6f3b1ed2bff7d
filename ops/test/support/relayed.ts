import type { Pool } from '../../platform/postgres/pool.js';
import { eventually } from './waiting.js';

/** Waits until checkpoints of the relay cover all sent events. */
export const waitUntilCheckpointed = (pool: Pool): Promise<void> =>
  eventually('checkpoints of the relay cover all sent events', async () => {
    const { rows } = await pool.query(
      `SELECT FROM log.relayed r WHERE next_offset > 0 AND NOT EXISTS (
         SELECT FROM log.relay_checkpoints c
         WHERE c.partition_id = r.partition_id AND c.next_offset = r.next_offset)`,
    );
    return rows.length === 0;
  });
