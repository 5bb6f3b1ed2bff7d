import { inMonth, monthOf, type KeyMeter } from '../../schemas/folds/key-meter.js';
import type { UsageEvent } from '../../schemas/events/catalogue.js';
import { unnest, valuesByField, type Client } from '../platform/postgres/pool.js';
import type { Statement } from '../platform/postgres/statement.js';
import { ledgerNow, type LedgerClock } from './clock.js';
import type { LedgerRows, LedgerSchema } from './decide.js';

/** Columns and SQL types of the fields that are folds of the log. */
const folded = {
  month: ['month', 'date'],
  calls: ['month_calls', 'bigint'],
  links: ['month_links', 'bigint'],
  qrCodes: ['month_qr_codes', 'bigint'],
  otherMonths: ['other_months', 'jsonb'],
  allLinks: ['all_links', 'bigint'],
  usageSequence: ['usage_sequence', 'bigint'],
} as const satisfies Record<keyof KeyMeter, readonly [string, string]>;

const columns = {
  ...folded,
  windowStart: ['window_start', 'timestamptz'],
  windowCalls: ['window_calls', 'integer'],
} as const;

type Mutable<Type> = { -readonly [Field in keyof Type]: Type[Field] };

/** The locked meter of a root key. `saveMeters` writes its changes. */
export interface LockedMeter extends Mutable<KeyMeter> {
  readonly keyId: string;
  /** Start of the last window of the limit per minute. */
  windowStart: Date;
  windowCalls: number;
}

const selected = Object.entries(columns)
  .map(([field, [column]]) => `m.${column} AS "${field}"`)
  .join();

/** Columns of `ledger.key_meters m`. */
export const meterColumns = `m.key_id AS "keyId", ${selected}`;

/** Moves a meter to the month of `now`. */
export const moveToMonth = (meter: LockedMeter, now: Date): LockedMeter =>
  Object.assign(meter, inMonth(meter, monthOf(now.toISOString())));

/** Locks the meters in the order of their keys. */
const lockStoredMeters = async (
  tx: Client,
  keyIds: readonly string[],
  schema: LedgerSchema = 'ledger',
): Promise<readonly (LockedMeter & { readonly lockedAt: Date })[]> => {
  const { rows } = await tx.query<LockedMeter & { lockedAt: Date }>({
    name: `meters-lock-${schema}`,
    // The outer query reads the clock after the inner one has locked the row.
    text: `SELECT l.*, clock_timestamp() AS "lockedAt"
           FROM (SELECT ${meterColumns} FROM ${schema}.key_meters m
                 WHERE m.key_id = ANY ($1::text[]) ORDER BY m.key_id FOR UPDATE) l`,
    values: [[...new Set(keyIds)]],
  });
  return rows;
};

/** Locks the meters in the order of their keys, if any. `now` is PostgreSQL's time after that, clamped by `clock`. */
export const lockMeters = async (
  tx: Client,
  keyIds: readonly string[],
  clock: LedgerClock,
): Promise<{ readonly meters: ReadonlyMap<string, LockedMeter>; readonly now: Date }> => {
  if (keyIds.length === 0) return { meters: new Map(), now: clock.clampedNow(await ledgerNow(tx)) };
  const rows = await lockStoredMeters(tx, keyIds);
  const last = rows.at(-1);
  if (!last) throw new Error(`no meter exists for ${keyIds.length} keys`);
  const now = clock.clampedNow(last.lockedAt);
  return { meters: new Map(rows.map((row) => [row.keyId, moveToMonth(row, now)])), now };
};

const save = <Field extends keyof typeof columns>(
  meters: readonly ({ readonly keyId: string } & Pick<LockedMeter, Field>)[],
  fields: readonly Field[],
  name: string,
  schema: LedgerSchema,
): readonly Statement[] => {
  if (meters.length === 0) return [];
  const names = fields.map((field) => columns[field][0]);
  return [
    {
      name: `${name}-${schema}`,
      text: `UPDATE ${schema}.key_meters m SET ${names.map((name) => `${name} = i.${name}`).join()}
             FROM ${unnest(['text', ...fields.map((field) => columns[field][1])])}
               AS i (key_id, ${names.join()})
             WHERE m.key_id = i.key_id`,
      values: valuesByField(meters, 'keyId', ...fields),
    },
  ];
};

/** Writes locked meters. */
export const saveMeters = (meters: Iterable<LockedMeter>): readonly Statement[] =>
  save([...meters], Object.keys(columns) as (keyof typeof columns)[], 'meters-save', 'ledger');

/** The meters of root keys as states of deciders. Unknown keys are ignored. */
export const meterRows: LedgerRows<KeyMeter, UsageEvent> = {
  async lock(tx, keyIds, schema) {
    const rows = await lockStoredMeters(tx, keyIds, schema);
    return new Map(rows.map((row) => [row.keyId, row]));
  },
  save: (meters, schema = 'ledger') =>
    save(
      Array.from(meters, ([keyId, meter]) => ({ keyId, ...meter })),
      Object.keys(folded) as (keyof typeof folded)[],
      'meters-save-folded',
      schema,
    ),
};

/** Metered calls of a root key. */
export interface CallsOfMinute {
  readonly keyId: string;
  readonly minute: Date;
  readonly calls: number;
}

/** The start of the minute of a time. */
export const minuteOf = (time: Date): Date => new Date(time.getTime() - (time.getTime() % 60_000));

/** Adds calls to minutes, one per key. The transaction holds the locks of the meters. */
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
