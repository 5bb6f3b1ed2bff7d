import type { Pool } from '../../platform/postgres/pool.js';
import { eventually } from './waiting.js';

/** Waits until a checkpoint of the relay covers all events that it has sent. */
export const waitUntilCheckpointed = (pool: Pool): Promise<void> =>
  eventually('a checkpoint of the relay covers all that was sent', async () => {
    const { rows } = await pool.query(
      `SELECT FROM log.relayed r WHERE next_offset > 0 AND NOT EXISTS (
         SELECT FROM log.relay_checkpoints c
         WHERE c.partition_id = r.partition_id AND c.next_offset = r.next_offset)`,
    );
    return rows.length === 0;
  });
