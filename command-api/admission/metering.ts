import { newId } from '../../ops/platform/new-id.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import {
  execute,
  transaction,
  unnest,
  valuesByField,
  type Pool,
} from '../../ops/platform/postgres/pool.js';
import type { Statement } from '../../ops/platform/postgres/statement.js';
import { ownActors } from '../../schemas/decision.js';
import { newEvent } from '../../schemas/events/codec.js';

const pageSize = 500;

/** Metered calls of a root key. */
export interface CallsOfMinute {
  readonly keyId: string;
  readonly minute: Date;
  readonly calls: number;
}

/** The minute that a time lies in. */
export const minuteOf = (time: Date): Date => new Date(time.getTime() - (time.getTime() % 60_000));

/** Adds calls to minutes of keys whose meters the transaction has locked, one minute for each key. */
export const countMinutes = (minutes: readonly CallsOfMinute[]): readonly Statement[] =>
  minutes.length === 0
    ? []
    : [
        {
          name: 'minutes-count',
          text: `INSERT INTO ledger.usage_minutes AS u (key_id, minute, calls)
                 SELECT * FROM ${unnest(['text', 'timestamptz', 'integer'])}
                 ON CONFLICT (key_id, minute) DO UPDATE SET calls = u.calls + excluded.calls`,
          values: valuesByField(minutes, 'keyId', 'minute', 'calls'),
        },
      ];

/**
 * Turns minutes into CallsMetered events; returns how many. The keys' meters are locked first, as
 * admission does. All minutes of `keyIds`; for `null`, the past minutes of a page of keys, without
 * those that admission holds.
 *
 * A call that is admitted while its minute is closed opens that minute again. The minute then has a
 * second event; the sum of both is right.
 */
const close = (pool: Pool, outbox: Outbox, keyIds: readonly string[] | null): Promise<number> =>
  transaction(pool, async (tx) => {
    // A minute that lies far ahead was counted by a clock that was wrong: nobody adds to it any more.
    const isDue = keyIds
      ? 'true'
      : `minute NOT BETWEEN date_trunc('minute', clock_timestamp()) AND clock_timestamp() + interval '1 minute'`;
    const { rows } = await tx.query<{
      key_id: string;
      account: string;
      sequence: number;
      minute: Date;
      calls: number;
      now: Date;
    }>({
      name: `metering-close-${keyIds ? 'all' : 'past'}`,
      text: `
        WITH due AS (
          SELECT DISTINCT key_id FROM ledger.usage_minutes
          WHERE ${isDue} AND ($1::text[] IS NULL OR key_id = ANY ($1)) LIMIT ${pageSize}
        ),
        locked AS MATERIALIZED (
          SELECT m.key_id, m.usage_sequence, k.account
          FROM ledger.key_meters m JOIN ledger.api_keys k ON k.id = m.key_id
          WHERE m.key_id IN (SELECT key_id FROM due)
          ORDER BY m.key_id FOR UPDATE OF m ${keyIds ? '' : 'SKIP LOCKED'}
        ),
        closed AS (
          DELETE FROM ledger.usage_minutes u USING locked
          WHERE u.key_id = locked.key_id AND ${isDue}
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
      values: [keyIds],
    });
    const events = rows.map(({ key_id, account, sequence, minute, calls, now }) =>
      newEvent(
        'CallsMetered',
        { minute: minute.toISOString(), calls },
        {
          id: newId(),
          subject: key_id,
          time: now,
          sequence,
          account,
          actor: ownActors.system,
        },
      ),
    );
    await execute(tx, outbox.record(events));
    return events.length;
  });

/**
 * Closes past minutes, a page of keys at a time; returns how many. Keys that admission holds are
 * left for the next time.
 */
export const closeMinutes = (pool: Pool, outbox: Outbox): Promise<number> =>
  close(pool, outbox, null);

/** Closes every minute with calls that were admitted before this, the current one too. */
export const closeAllMinutes = async (pool: Pool, outbox: Outbox): Promise<void> => {
  const { rows } = await pool.query<{ key_id: string }>(
    'SELECT DISTINCT key_id FROM ledger.usage_minutes',
  );
  const keyIds = rows.map(({ key_id }) => key_id);
  for (let at = 0; at < keyIds.length; at += pageSize) {
    await close(pool, outbox, keyIds.slice(at, at + pageSize));
  }
};
