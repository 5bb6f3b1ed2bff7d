import { inMonth, monthOf, type KeyMeter } from '../../schemas/folds/key-meter.js';
import type { UsageEvent } from '../../schemas/events/catalogue.js';
import { unnest, valuesByField, type Client } from '../platform/postgres/pool.js';
import type { Statement } from '../platform/postgres/statement.js';
import type { LedgerClock } from './clock.js';
import type { LedgerRows, LedgerSchema } from './decide.js';

/** The columns of `KeyMeter`, each with its SQL type. */
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

/** The meter of a root key, locked by a transaction. `saveMeters` writes changes of the object. */
export interface LockedMeter extends Mutable<KeyMeter> {
  readonly keyId: string;
  /** The last window of the per-minute limit, and its calls. */
  windowStart: Date;
  windowCalls: number;
}

const selected = Object.entries(columns)
  .map(([field, [column]]) => `m.${column} AS "${field}"`)
  .join();

/** The columns of `ledger.key_meters m` for a `LockedMeter`. */
export const meterColumns = `m.key_id AS "keyId", ${selected}`;

/** Makes the month of `now` the latest month of the meter. */
export const startMonth = (meter: LockedMeter, now: Date): LockedMeter =>
  Object.assign(meter, inMonth(meter, monthOf(now.toISOString())));

/** Locks the keys' meters, in their order, until the transaction ends. */
export const lockStoredMeters = async (
  tx: Client,
  keyIds: readonly string[],
  schema: LedgerSchema,
): Promise<readonly (LockedMeter & { readonly databaseTime: Date })[]> => {
  const { rows } = await tx.query<LockedMeter & { databaseTime: Date }>({
    name: `meters-lock-${schema}`,
    // clock_timestamp() is evaluated after the inner query has locked the row.
    text: `SELECT l.*, clock_timestamp() AS "databaseTime"
           FROM (SELECT ${meterColumns} FROM ${schema}.key_meters m
                 WHERE m.key_id = ANY ($1::text[]) ORDER BY m.key_id FOR UPDATE) l`,
    values: [[...new Set(keyIds)]],
  });
  return rows;
};

/** Locks the keys' meters, in their order. `now` is `clampedNow` of PostgreSQL's time with the locks held. */
export const lockMeters = async (
  tx: Client,
  keyIds: readonly string[],
  clock: LedgerClock,
): Promise<{ readonly meters: ReadonlyMap<string, LockedMeter>; readonly now: Date }> => {
  const rows = await lockStoredMeters(tx, keyIds, 'ledger');
  const last = rows.at(-1);
  if (!last) throw new Error('None of the keys has a meter');
  const now = clock.clampedNow(last.databaseTime);
  return { meters: new Map(rows.map((row) => [row.keyId, startMonth(row, now)])), now };
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

/** Saves meters that the transaction has locked. */
export const saveMeters = (meters: Iterable<LockedMeter>): readonly Statement[] =>
  save([...meters], Object.keys(columns) as (keyof typeof columns)[], 'meters-save', 'ledger');

/** Saves folded meters, without the per-minute window. */
export const saveFoldedMeters = (
  meters: ReadonlyMap<string, KeyMeter>,
  schema: LedgerSchema,
): readonly Statement[] =>
  save(
    Array.from(meters, ([keyId, meter]) => ({ keyId, ...meter })),
    Object.keys(folded) as (keyof typeof folded)[],
    'meters-save-folded',
    schema,
  );

/** The meters of root keys as states of deciders. */
export const meterRows: LedgerRows<KeyMeter, UsageEvent> = {
  async lock(tx, keyIds) {
    const rows = await lockStoredMeters(tx, keyIds, 'ledger');
    return new Map(rows.map((row) => [row.keyId, row]));
  },
  save: (meters) => saveFoldedMeters(meters, 'ledger'),
};
