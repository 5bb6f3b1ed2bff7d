import { transaction, valuesByField, type Pool } from '../../ops/platform/postgres/pool.js';

const dayMs = 86_400_000;

/** How often an edge looks after the keys. */
export const lookMs = 60_000;

/** A key is gone 48 hours after its day began: with a look before that, however it falls. */
export const keptMs = 2 * dayMs - 2 * lookMs;

const createSql = `
  INSERT INTO ledger.visitor_keys (day, key)
  SELECT (now() AT TIME ZONE 'UTC')::date + ahead,
    sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
  FROM generate_series(0, 1) AS ahead
  ON CONFLICT (day) DO NOTHING`;

/** $1: `keptMs` */
const isOver = `day + $1 * interval '1 ms' <= now() AT TIME ZONE 'UTC'`;

/**
 * Deletes the keys that are over. PostgreSQL leaves the bytes of updated and deleted rows in the table's file, also
 * after VACUUM: so the table gets a new file with the other keys, and the old one is removed.
 */
const deleteOver = async (pool: Pool): Promise<void> => {
  const over = `SELECT FROM ledger.visitor_keys WHERE ${isOver}`;
  if ((await pool.query(over, [keptMs])).rows.length === 0) return;
  await transaction(pool, async (tx) => {
    await tx.query('LOCK TABLE ledger.visitor_keys IN ACCESS EXCLUSIVE MODE');
    // Another edge may have been first.
    if ((await tx.query(over, [keptMs])).rows.length === 0) return;
    const { rows } = await tx.query<{ day: string; key: Buffer }>(
      `SELECT day, key FROM ledger.visitor_keys WHERE NOT (${isOver})`,
      [keptMs],
    );
    await tx.query('TRUNCATE ledger.visitor_keys');
    await tx.query(
      'INSERT INTO ledger.visitor_keys (day, key) SELECT * FROM unnest($1::date[], $2::bytea[])',
      valuesByField(rows, 'day', 'key'),
    );
  });
};

interface DayKey {
  /** The day's first moment, in milliseconds since the epoch. */
  readonly day: number;
  /** Hexadecimal. */
  readonly key: string;
}

/**
 * The keys of the visitors' hashes: one for each UTC day, the same on all edges. PostgreSQL makes
 * them a day ahead, by its clock; an edge takes the key of a visit's day by its own clock, which is the
 * clock of the visit's event. An edge that is cut off from PostgreSQL goes on with the keys that it has.
 */
export class VisitorKeys {
  #keys: ReadonlyMap<number, string> = new Map();

  /** @param now milliseconds since the epoch */
  constructor(
    private readonly pool: Pool,
    private readonly now: () => number = Date.now,
  ) {}

  /** The key of the day of a time, hexadecimal; `null` while there is none at hand. */
  of(time: number): string | null {
    return this.#keys.get(time - (time % dayMs)) ?? null;
  }

  /** Makes the keys that are due, deletes those that are over, and reads the others. */
  async look(): Promise<void> {
    // PostgreSQL may be away for longer than a key may be kept.
    this.#keep([...this.#keys].map(([day, key]) => ({ day, key })));
    await deleteOver(this.pool);
    await this.pool.query(createSql);
    const { rows } = await this.pool.query<DayKey>(
      `SELECT (extract(epoch FROM day) * 1000)::float8 AS day, encode(key, 'hex') AS key
       FROM ledger.visitor_keys`,
    );
    this.#keep(rows);
  }

  #keep(keys: readonly DayKey[]): void {
    const since = this.now() - keptMs;
    this.#keys = new Map(keys.flatMap(({ day, key }) => (day > since ? [[day, key]] : [])));
  }
}
