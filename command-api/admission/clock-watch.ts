import type { LedgerClock } from '../../ops/ledger/clock.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Pool, Queryable } from '../../ops/platform/postgres/pool.js';
import { topics } from '../../schemas/events/topics.js';

/** Covers rounding, and the time between the reading of a time and of the clock. */
const toleranceSeconds = 1;

/**
 * Seconds by which the latest stored time is later than PostgreSQL's clock. Reads the newest row of each index, and the
 * latest time that was stored before, because newer rows hide it. Visits are excluded: their times are of the edges'
 * clocks.
 */
const readDifference = async (client: Queryable): Promise<number> => {
  const { rows } = await client.query<{ seconds: number }>({
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
      stored AS (
        UPDATE ledger.clock c SET latest = n.latest FROM newest n
        WHERE c.latest < n.latest - interval '30 seconds'
      )
      SELECT extract(epoch FROM greatest(c.latest, n.latest) - n.now)::float8 AS seconds
      FROM ledger.clock c CROSS JOIN newest n`,
  });
  return rows[0]?.seconds ?? 0;
};

/** Windows that start in the future start now, and keep their calls. */
const restartFutureWindows = async (pool: Pool): Promise<void> => {
  await pool.query(
    `UPDATE ledger.key_meters m SET window_start = clock_timestamp()
     FROM (SELECT key_id FROM ledger.key_meters WHERE window_start > clock_timestamp()
           ORDER BY key_id FOR UPDATE SKIP LOCKED) locked
     WHERE m.key_id = locked.key_id`,
  );
};

export type ClockWatch = ReturnType<typeof createClockWatch>;

/** Reads PostgreSQL's clock for the ledger, and reports stored times in the future. */
export const createClockWatch = (pool: Pool, clock: LedgerClock, logger: Logger) => {
  let seconds = 0;
  return {
    /** Seconds by which the latest stored time is later than PostgreSQL's clock; 0 if it is not. */
    aheadSeconds: () => seconds,
    /** Call it every `readClockMs`. */
    check: async (): Promise<void> => {
      if (await clock.read()) await restartFutureWindows(pool);
      const difference = await readDifference(pool);
      const previous = seconds;
      seconds = difference > toleranceSeconds ? difference : 0;
      if (seconds > 0 && previous === 0) {
        const fields = { seconds: Math.round(seconds) };
        logger.warn(fields, "a stored time is later than PostgreSQL's clock");
      } else if (seconds === 0 && previous > 0) {
        logger.info("PostgreSQL's clock has reached the stored times");
      }
    },
  };
};
