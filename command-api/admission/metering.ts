import { newId } from '../../ops/platform/new-id.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import {
  meterColumns,
  saveMeters,
  type CallsOfMinute,
  type LockedMeter,
} from '../../ops/ledger/meters.js';
import {
  lockingTransaction,
  unnest,
  valuesByField,
  type Client,
  type Pool,
} from '../../ops/platform/postgres/pool.js';
import {
  mapResult,
  writeAfter,
  type Statement,
  type Write,
} from '../../ops/platform/postgres/statement.js';
import { groupBy } from '../../ops/platform/collections.js';
import {
  accepted,
  nextEvent,
  ownActors,
  type Command,
  type Decider,
} from '../../schemas/decision.js';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';

const pageSize = 500;

/** Closes minutes of a root key, the subject, in ascending order. */
type CloseMinutes = Command<
  'CloseMinutes',
  { readonly account: string; readonly minutes: readonly Omit<CallsOfMinute, 'keyId'>[] }
>;

/** One event per minute. Admission has added the calls to the month, so only the sequence changes. */
const meteringDecider: Decider<
  CloseMinutes,
  EventNamed<'CallsMetered'>,
  Pick<LockedMeter, 'usageSequence'>
> = {
  initialState: { usageSequence: 0 },
  decide: ({ subject, data: { account, minutes }, metadata }, { usageSequence }) =>
    accepted(
      ...minutes.map(({ minute, calls }, index) => {
        const last = { sequence: usageSequence + index, lastEventAt: metadata.now };
        return newEvent(
          'CallsMetered',
          { minute: minute.toISOString(), calls },
          { ...nextEvent(last, metadata, index), subject, account },
        );
      }),
    ),
  evolve: (_, { sequence }) => ({ usageSequence: sequence }),
};

interface Locked {
  readonly meters: readonly (LockedMeter & { readonly account: string; readonly now: Date })[];
  readonly minutes: ReadonlyMap<string, readonly CallsOfMinute[]>;
}

/** A minute in the far future counts as past: the clock was wrong then. */
const isPast = `minute NOT BETWEEN date_trunc('minute', clock_timestamp())
                           AND clock_timestamp() + interval '1 minute'`;

/**
 * Locks meters in the order of admission. The second statement reads their minutes after that, which change only under
 * this lock; its other minutes are ignored.
 */
const lock = async (tx: Client, keyIds: readonly string[] | null): Promise<Locked> => {
  const kind = keyIds ? 'all' : 'past';
  const isDue = keyIds ? 'true' : isPast;
  const dueKeys = `SELECT DISTINCT key_id FROM ledger.usage_minutes
                   WHERE ${isDue} AND ($1::text[] IS NULL OR key_id = ANY ($1)) LIMIT ${pageSize}`;
  const [{ rows: meters }, { rows: minutes }] = await Promise.all([
    tx.query<Locked['meters'][number]>({
      name: `metering-lock-${kind}`,
      text: `SELECT l.*, date_trunc('milliseconds', clock_timestamp()) AS now
             FROM (SELECT ${meterColumns}, k.account
                   FROM ledger.key_meters m JOIN ledger.api_keys k ON k.id = m.key_id
                   WHERE m.key_id IN (${dueKeys})
                   ORDER BY m.key_id FOR UPDATE OF m ${keyIds ? '' : 'SKIP LOCKED'}) l`,
      values: [keyIds],
    }),
    tx.query<CallsOfMinute>({
      name: `metering-minutes-${kind}`,
      text: `SELECT key_id AS "keyId", minute, calls FROM ledger.usage_minutes
             WHERE ${isDue} AND key_id IN (${dueKeys}) ORDER BY key_id, minute`,
      values: [keyIds],
    }),
  ]);
  const locked = new Set(meters.map(({ keyId }) => keyId));
  const ofLocked = minutes.filter(({ keyId }) => locked.has(keyId));
  return { meters, minutes: groupBy(ofLocked, ({ keyId }) => keyId) };
};

const close = (outbox: Outbox, { meters, minutes }: Locked): Write<number> => {
  const closed = [...minutes.values()].flat();
  const events = meters.flatMap((meter) => {
    const { keyId, account, now } = meter;
    const metadata = { now, id: newId(), actor: ownActors.system, requestId: null };
    const data = { account, minutes: minutes.get(keyId) ?? [] };
    const command: CloseMinutes = { type: 'CloseMinutes', subject: keyId, data, metadata };
    const decision = meteringDecider.decide(command, meter);
    if (decision.type !== 'accepted') return [];
    Object.assign(meter, decision.events.reduce(meteringDecider.evolve, meter));
    return decision.events;
  });
  const deleted: Statement = {
    name: 'metering-delete',
    text: `DELETE FROM ledger.usage_minutes u
           USING ${unnest(['text', 'timestamptz'])} AS c (key_id, minute)
           WHERE u.key_id = c.key_id AND u.minute = c.minute`,
    values: valuesByField(closed, 'keyId', 'minute'),
  };
  const write = writeAfter([deleted, ...saveMeters(meters)], outbox.record(events));
  return mapResult(write, () => events.length);
};

/**
 * Records a CallsMetered event for each minute; returns their number. `keyIds` selects all minutes of these keys; `null`
 * selects the past minutes of a page of keys without locked meters.
 *
 * A call that is admitted while its minute is closed opens that minute again. A second event then records that call.
 */
const closePage = (pool: Pool, outbox: Outbox, keyIds: readonly string[] | null): Promise<number> =>
  lockingTransaction(
    pool,
    (tx) => lock(tx, keyIds),
    (locked) => close(outbox, locked),
  );

/** Closes past minutes of a page of keys; returns their number. Keys with locked meters wait for the next call. */
export const closeMinutes = (pool: Pool, outbox: Outbox): Promise<number> =>
  closePage(pool, outbox, null);

/** Closes every minute with calls that were admitted before this call, including the current minute. */
export const closeAllMinutes = async (pool: Pool, outbox: Outbox): Promise<void> => {
  const { rows } = await pool.query<{ key_id: string }>(
    'SELECT DISTINCT key_id FROM ledger.usage_minutes',
  );
  const keyIds = rows.map(({ key_id }) => key_id);
  for (let at = 0; at < keyIds.length; at += pageSize) {
    await closePage(pool, outbox, keyIds.slice(at, at + pageSize));
  }
};
