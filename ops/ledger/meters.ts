import { inMonth, monthOf, type KeyMeter } from '../../schemas/folds/key-meter.js';
import type { PlatformSwitches } from '../../schemas/folds/platform.js';
import type { UsageEvent } from '../../schemas/events/catalogue.js';
import { unnest, valuesByField, type Client } from '../platform/postgres/pool.js';
import type { Statement } from '../platform/postgres/statement.js';
import { ledgerNow, type LedgerClock } from './clock.js';
import type { LedgerRows, LedgerSchema } from './decide.js';
import type { Principal } from '../../schemas/principal.js';
import { principalOf } from './principals.js';

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

const moveToMonth = (meter: LockedMeter, now: Date): LockedMeter =>
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

/** A key of calls, and the meter of its root. */
interface KeyOfCalls extends LockedMeter, Principal {
  /** SHA-256 of the secret, hexadecimal. */
  readonly hash: string;
  readonly lastUsedAt: Date | null;
  /** The earliest end of the secret, the key and its root. */
  readonly endsAt: Date | null;
}

/** The known keys of calls, and the locked meters of their roots. */
export interface LockedCalls {
  readonly platform: PlatformSwitches;
  /** The keys by SHA-256 of the secret. Keys that have ended are absent. */
  readonly keys: ReadonlyMap<string | null, KeyOfCalls>;
  /** The meters by ID of the root key. */
  readonly meters: ReadonlyMap<string, LockedMeter>;
  /** PostgreSQL's clock after the locks, and that clock after `LedgerClock.clampedNow`. */
  readonly time: { readonly databaseTime: Date; readonly now: Date };
}

/** The switches with one of the keys. If all keys are unknown, one row has the switches alone. */
type Row = PlatformSwitches & { readonly databaseTime: Date } & (
    KeyOfCalls | { readonly hash: null }
  );

/** clock_timestamp() is evaluated after the inner query has locked the row. */
const lockingStatement = `
  SELECT p.maintenance, p.shortening, p.aliases, p.passwords, p.expiration, p.qr,
         l.*, clock_timestamp() AS "databaseTime"
  FROM ledger.platform p
  LEFT JOIN (
    SELECT a.hash, k.*, ${meterColumns}
    FROM unnest($1::text[]) AS a (hash)
    JOIN ${principalOf("decode(a.hash, 'hex')")} k ON true
    JOIN ledger.key_meters m ON m.key_id = k."rootId"
    ORDER BY m.key_id FOR UPDATE OF m
  ) l ON true`;

/** Reads the known keys by their hash, and locks the meters of their roots, in the order of their IDs. */
export const lockCalls = async (
  tx: Client,
  hashes: readonly (string | null)[],
  clock: LedgerClock,
): Promise<LockedCalls> => {
  const { rows } = await tx.query<Row>({
    name: 'admission-lock',
    text: lockingStatement,
    values: [[...new Set(hashes)].filter((hash) => hash !== null)],
  });
  // When the last row is returned, all meters are locked.
  const platform = rows.at(-1);
  if (!platform) throw new Error('The ledger has no platform row');
  const { databaseTime } = platform;
  const now = clock.clampedNow(databaseTime);
  const keys = new Map<string | null, KeyOfCalls>();
  const meters = new Map<string, LockedMeter>();
  for (const row of rows) {
    if (row.hash === null || (row.endsAt !== null && now >= row.endsAt)) continue;
    keys.set(row.hash, row);
    if (!meters.has(row.rootId)) meters.set(row.rootId, moveToMonth(row, now));
  }
  return { platform, keys, meters, time: { databaseTime, now } };
};

/** Adds admitted calls to their minutes, and updates when their keys were last used. */
export const countCalls = (
  {
    metered,
    keysUsed,
  }: {
    /** The calls of each root key that count toward the month. */
    readonly metered: ReadonlyMap<string, number>;
    readonly keysUsed: ReadonlySet<string>;
  },
  now: Date,
): readonly Statement[] => {
  const used: Statement = {
    name: 'keys-used',
    // An UPDATE alone would not lock the keys in the order of their IDs.
    text: `UPDATE ledger.api_keys k SET last_used_at = $2
           FROM (SELECT id FROM ledger.api_keys
                 WHERE id = ANY ($1::text[]) AND (last_used_at IS NULL OR last_used_at < $2)
                 ORDER BY id FOR NO KEY UPDATE) AS locked
           WHERE k.id = locked.id`,
    values: [[...keysUsed], minuteOf(now)],
  };
  const minutes = Array.from(metered, ([keyId, calls]) => ({
    keyId,
    minute: minuteOf(now),
    calls,
  }));
  return [...countMinutes(minutes), ...(keysUsed.size > 0 ? [used] : [])];
};
