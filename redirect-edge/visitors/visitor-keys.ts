import { transaction, valuesByField, type Pool } from '../../ops/platform/postgres/pool.js';

const dayMs = 86_400_000;

/** How often an edge refreshes the keys (ms). */
export const refreshMs = 60_000;

/** The lifetime of a key (ms). The margin of two refreshes guarantees that it is deleted within 48 hours. */
export const keyLifeMs = 2 * dayMs - 2 * refreshMs;

const createSql = `
  INSERT INTO ledger.visitor_keys (day, key)
  SELECT (now() AT TIME ZONE 'UTC')::date + ahead,
    sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
  FROM generate_series(0, 1) AS ahead
  ON CONFLICT (day) DO NOTHING`;

/** $1: `keyLifeMs` */
const isExpired = `day + $1 * interval '1 ms' <= now() AT TIME ZONE 'UTC'`;

/**
 * Deletes expired keys. PostgreSQL leaves the bytes of deleted rows in the table's file, even after VACUUM. TRUNCATE
 * gives the table a new file and removes the old one, and the other keys are inserted again.
 */
const deleteExpired = async (pool: Pool): Promise<void> => {
  const expired = `SELECT FROM ledger.visitor_keys WHERE ${isExpired}`;
  if ((await pool.query(expired, [keyLifeMs])).rows.length === 0) return;
  await transaction(pool, async (tx) => {
    await tx.query('LOCK TABLE ledger.visitor_keys IN ACCESS EXCLUSIVE MODE');
    // Another edge may have deleted them meanwhile.
    if ((await tx.query(expired, [keyLifeMs])).rows.length === 0) return;
    const { rows } = await tx.query<{ day: string; key: Buffer }>(
      `SELECT day, key FROM ledger.visitor_keys WHERE NOT (${isExpired})`,
      [keyLifeMs],
    );
    await tx.query('TRUNCATE ledger.visitor_keys');
    await tx.query(
      'INSERT INTO ledger.visitor_keys (day, key) SELECT * FROM unnest($1::date[], $2::bytea[])',
      valuesByField(rows, 'day', 'key'),
    );
  });
};

interface DayKey {
  /** The start of the day, in milliseconds since the epoch. */
  readonly day: number;
  /** Hexadecimal. */
  readonly key: string;
}

/**
 * The keys of visitor hashes: one for each UTC day, the same on all edges. They are created a day ahead, by
 * PostgreSQL's clock. An edge selects the key by its own clock, which is also the clock of the visit's event. Without
 * PostgreSQL, an edge continues with the keys that it has.
 */
export class VisitorKeys {
  #keys: ReadonlyMap<number, string> = new Map();

  /** @param now milliseconds since the epoch */
  constructor(
    private readonly pool: Pool,
    private readonly now: () => number = Date.now,
  ) {}

  /** The key of a time's day, hexadecimal; `null` if this edge does not have it. */
  of(time: number): string | null {
    return this.#keys.get(time - (time % dayMs)) ?? null;
  }

  /** Deletes expired keys, creates missing ones, and reads them. */
  async refresh(): Promise<void> {
    // PostgreSQL may be unreachable for longer than the lifetime of a key.
    this.#setKeys([...this.#keys].map(([day, key]) => ({ day, key })));
    await deleteExpired(this.pool);
    await this.pool.query(createSql);
    const { rows } = await this.pool.query<DayKey>(
      `SELECT (extract(epoch FROM day) * 1000)::float8 AS day, encode(key, 'hex') AS key
       FROM ledger.visitor_keys`,
    );
    this.#setKeys(rows);
  }

  #setKeys(keys: readonly DayKey[]): void {
    const since = this.now() - keyLifeMs;
    this.#keys = new Map(keys.flatMap(({ day, key }) => (day > since ? [[day, key]] : [])));
  }
}
