import { v7 as uuidv7 } from 'uuid';
import type { Outbox } from '../../ops/platform/outbox/port.js';
import { transaction, type Pool } from '../../ops/platform/postgres/pool.js';
import { newEvent } from '../../schemas/events/codec.js';

const pageSize = 500;

/**
 * Turns past minutes into CallsMetered events, a page at a time; returns how many. The keys' meters
 * are locked first, as admission does, and those that it holds are left for the next time.
 *
 * A call that was being admitted as its minute was closed opens that minute again, which then gives
 * a second event: it is the sum that counts.
 */
export const closeMinutes = (pool: Pool, outbox: Outbox): Promise<number> =>
  transaction(pool, async (tx) => {
    const { rows } = await tx.query<{
      key_id: string;
      account: string;
      sequence: number;
      minute: Date;
      calls: number;
      now: Date;
    }>({
      name: 'metering-close',
      text: `
        WITH due AS (
          SELECT DISTINCT key_id FROM ledger.usage_minutes
          WHERE minute < date_trunc('minute', clock_timestamp()) LIMIT ${pageSize}
        ),
        locked AS MATERIALIZED (
          SELECT m.key_id, m.usage_sequence, k.account
          FROM ledger.key_meters m JOIN ledger.api_keys k ON k.id = m.key_id
          WHERE m.key_id IN (SELECT key_id FROM due)
          ORDER BY m.key_id FOR UPDATE OF m SKIP LOCKED
        ),
        closed AS (
          DELETE FROM ledger.usage_minutes u USING locked
          WHERE u.key_id = locked.key_id AND u.minute < date_trunc('minute', clock_timestamp())
          RETURNING u.key_id, u.minute, u.calls
        ),
        numbered AS (
          SELECT closed.*, account,
                 usage_sequence + row_number() OVER (PARTITION BY key_id ORDER BY minute) AS sequence
          FROM closed JOIN locked USING (key_id)
        ),
        counted AS (
          UPDATE ledger.key_meters m SET usage_sequence = n.last
          FROM (SELECT key_id, max(sequence) AS last FROM numbered GROUP BY key_id) n
          WHERE m.key_id = n.key_id
        )
        SELECT *, date_trunc('milliseconds', clock_timestamp()) AS now FROM numbered
        ORDER BY key_id, sequence`,
    });
    const events = rows.map(({ key_id, account, sequence, minute, calls, now }) =>
      newEvent(
        'CallsMetered',
        { minute: minute.toISOString(), calls },
        { id: uuidv7(), subject: key_id, time: now, sequence, account, actor: 'system' },
      ),
    );
    await outbox.record(tx, events);
    return events.length;
  });
