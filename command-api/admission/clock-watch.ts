import type { LedgerClock } from '../../ops/ledger/clock.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Pool, Queryable } from '../../ops/platform/postgres/pool.js';
import { topics } from '../../schemas/events/topics.js';

/** What is read late, or rounded, is no clock that went back. */
const toleranceSeconds = 1;

/**
 * How many seconds the latest stored time lies ahead of PostgreSQL's clock. Read are the newest rows by index,
 * and what the clock has shown before; the latest of them is kept, for newer rows hide it. Visits are left out:
 * their times are the edges'.
 */
const secondsAhead = async (client: Queryable): Promise<number> => {
  const { rows } = await client.query<{ ahead: number }>({
    name: 'clock-ahead',
    text: `
      WITH newest AS MATERIALIZED (
        SELECT clock_timestamp() AS now, greatest(
          clock_timestamp(),
          (SELECT max(minute) FROM ledger.usage_minutes),
          (SELECT max(created_at) FROM ledger.idempotency),
          (SELECT max((e.value::json ->> 'time')::timestamptz) FROM log.partitions p
           CROSS JOIN LATERAL (SELECT value FROM log.records
                               WHERE partition_id = p.id AND ledger_sequence IS NOT NULL
                               ORDER BY first_offset DESC LIMIT 1) e
           WHERE p.topic <> '${topics.visits.name}')
        ) AS latest
      ),
      kept AS (
        UPDATE ledger.clock c SET latest = n.latest FROM newest n
        WHERE c.latest < n.latest - interval '30 seconds'
      )
      SELECT extract(epoch FROM greatest(c.latest, n.latest) - n.now)::float8 AS ahead
      FROM ledger.clock c CROSS JOIN newest n`,
  });
  return rows[0]?.ahead ?? 0;
};

/** Windows that a clock began that was ahead begin now, with their calls. */
const pullWindowsBack = async (pool: Pool): Promise<void> => {
  await pool.query(
    `UPDATE ledger.key_meters m SET window_start = clock_timestamp()
     FROM (SELECT key_id FROM ledger.key_meters WHERE window_start > clock_timestamp()
           ORDER BY key_id FOR UPDATE SKIP LOCKED) ahead
     WHERE m.key_id = ahead.key_id`,
  );
};

export type ClockWatch = ReturnType<typeof createClockWatch>;

/** Reads PostgreSQL's clock for the ledger, and says when stored times lie ahead of it. */
export const createClockWatch = (pool: Pool, clock: LedgerClock, logger: Logger) => {
  let ahead = 0;
  return {
    /** How far the latest stored time lies ahead of PostgreSQL's clock; 0 as it should be. */
    aheadSeconds: () => ahead,
    /** To be called every `readClockMs`. @returns 0: there is never more to do at once */
    look: async (): Promise<number> => {
      if (await clock.read()) await pullWindowsBack(pool);
      const seconds = await secondsAhead(pool);
      const before = ahead;
      ahead = seconds > toleranceSeconds ? seconds : 0;
      if (ahead > 0 && before === 0) {
        logger.warn(
          { seconds: Math.round(ahead) },
          "a stored time lies ahead of PostgreSQL's clock",
        );
      } else if (ahead === 0 && before > 0) {
        logger.info("PostgreSQL's clock has reached the stored times");
      }
      return 0;
    },
  };
};
