import { inMonth, monthOf, type KeyMeter } from '../../schemas/folds/key-meter.js';
import { unnest, valuesByField, type Client } from '../platform/postgres/pool.js';
import type { Statement } from '../platform/postgres/statement.js';
import type { LedgerClock } from './clock.js';
import type { LedgerSchema } from './decide.js';

/** The columns of what the log tells of a key's spendings, each with its SQL type. */
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

/** What a root key has spent, locked by a transaction. `saveMeters` writes what is changed here. */
export interface LockedMeter extends Mutable<KeyMeter> {
  readonly keyId: string;
  /** The last window of the limit per minute, and its calls. */
  windowStart: Date;
  windowCalls: number;
}

const selected = Object.entries(columns)
  .map(([field, [column]]) => `m.${column} AS "${field}"`)
  .join();

/** The columns of `ledger.key_meters m` that make a `LockedMeter`. */
export const meterColumns = `m.key_id AS "keyId", ${selected}`;

/** Makes the month of the time a meter's latest. */
export const moveToMonth = (meter: LockedMeter, now: Date): LockedMeter =>
  Object.assign(meter, inMonth(meter, monthOf(now.toISOString())));

/** Locks the keys' meters, in their order, until the transaction ends. */
export const lockStoredMeters = async (
  tx: Client,
  keyIds: readonly string[],
  schema: LedgerSchema,
): Promise<readonly (LockedMeter & { readonly told: Date })[]> => {
  const { rows } = await tx.query<LockedMeter & { told: Date }>({
    name: `meters-lock-${schema}`,
    // The clock is read for each row that comes, locked, out of the inner query.
    text: `SELECT l.*, clock_timestamp() AS told
           FROM (SELECT ${meterColumns} FROM ${schema}.key_meters m
                 WHERE m.key_id = ANY ($1::text[]) ORDER BY m.key_id FOR UPDATE) l`,
    values: [[...new Set(keyIds)]],
  });
  return rows;
};

/**
 * Locks the keys' meters, in their order, until the transaction ends. `now` is PostgreSQL's time
 * with the locks held, in milliseconds, but no later than this process believes.
 */
export const lockMeters = async (
  tx: Client,
  keyIds: readonly string[],
  clock: LedgerClock,
): Promise<{ readonly meters: ReadonlyMap<string, LockedMeter>; readonly now: Date }> => {
  const rows = await lockStoredMeters(tx, keyIds, 'ledger');
  const last = rows.at(-1);
  if (!last) throw new Error('None of the keys has a meter');
  const now = clock.believed(last.told);
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

/** Writes meters that the transaction has locked. */
export const saveMeters = (meters: Iterable<LockedMeter>): readonly Statement[] =>
  save([...meters], Object.keys(columns) as (keyof typeof columns)[], 'meters-save', 'ledger');

/** Writes what events have made of meters. A key that was never made has none. */
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
