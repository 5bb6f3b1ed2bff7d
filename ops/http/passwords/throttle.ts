import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBatcher, Overloaded, type Batcher } from '../../platform/concurrency/batcher.js';
import type { Pool, Queryable } from '../../platform/postgres/pool.js';

const windowMs = 60_000;
/** A check without a verdict counts as a wrong attempt after this time: its process has died. */
const checkMs = 15_000;

/** 128 bits make collisions of two clients of a link negligible. */
const hashBytes = 16;

/** Hashes with a key of the installation, which is read at the first use and never changes. */
export class ClientHash {
  #key: Buffer | null = null;

  constructor(
    private readonly postgres: Queryable,
    private readonly table = 'ledger.client_hash_key',
  ) {}

  /** Identifies a client at one link. Its hashes at different links cannot be matched. */
  async of(subject: string, network: string): Promise<Buffer> {
    this.#key ??= await this.#readKey();
    // A subject has no space in it, so no two pairs are the same text.
    const hash = createHmac('sha256', this.#key).update(`${subject} ${network}`).digest();
    return hash.subarray(0, hashBytes);
  }

  async #readKey(): Promise<Buffer> {
    const { rows } = await this.postgres.query<{ key: Buffer }>(`SELECT key FROM ${this.table}`);
    const found = rows[0]?.key;
    if (!found) throw new Error(`${this.table} has no row`);
    return found;
  }
}

/** A client at a link, by its `ClientHash`. */
export interface ThrottledClient {
  readonly subject: string;
  readonly hash: Buffer;
}

export type Admission =
  /** The attempt is reserved for the client until its verdict is recorded. */
  { readonly type: 'check' } | { readonly type: 'throttled'; readonly waitMs: number };

/** The result of an admitted attempt. Only `wrong` counts. */
export type Verdict = 'right' | 'wrong' | 'unchecked';

/** The attempts of visitors at links. */
const visitorAttempts = 'ledger.password_tries';

/** The checks of the client's other attempts take a few hashes. */
const pollMs = 25;
const undecidedForMs = 5_000;
const pruneAfterMs = 2 * windowMs;
const pruneLimit = 5_000;

interface Row {
  readonly subject: string;
  readonly client: Buffer;
  admitted: number;
  readonly wait_ms: number;
}

/**
 * Reserves attempts for the clients that have some left. The attempts that are being checked count, because
 * all of them may turn out wrong. The statement locks the rows in the order of their key, and reads the clock
 * after that. A row that another node inserts at the same moment admits no attempt this time: the client
 * retries. Refusals write nothing, except that times in the future (the clock was ahead then) become now.
 */
const admitSql = (table: string): string => `
  WITH requests AS (
    SELECT subject, client, count(*)::integer AS requested
    FROM unnest($1::text[], $2::bytea[]) AS r (subject, client) GROUP BY subject, client
  ),
  locked AS MATERIALIZED (
    SELECT t.* FROM ${table} t JOIN requests USING (subject, client)
    ORDER BY t.subject, t.client FOR UPDATE OF t
  ),
  clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now FROM (SELECT count(*) FROM locked) l
  ),
  known AS (
    SELECT r.subject, r.client, r.requested, now, l.subject IS NOT NULL AS is_locked,
           CASE WHEN died THEN 0 ELSE coalesce(l.checking, 0) END AS checking,
           least(l.checking_until, now + $5::interval) AS checking_until,
           CASE WHEN died THEN l.wrong_at || array_fill(l.checking_until, ARRAY[l.checking])
                ELSE coalesce(l.wrong_at, '{}') END AS all_wrong_at,
           coalesce(l.touched_at > now OR l.checking_until > now + $5::interval, false) AS is_ahead
    FROM requests r CROSS JOIN clock LEFT JOIN locked l USING (subject, client)
    CROSS JOIN LATERAL (SELECT coalesce(l.checking > 0 AND l.checking_until <= now, false) AS died) d
  ),
  counted AS (
    SELECT k.*, wrong_at, cardinality(wrong_at) AS wrong
    FROM known k
    CROSS JOIN LATERAL (
      SELECT coalesce(array_agg(least(attempted_at, now) ORDER BY attempted_at), '{}') AS wrong_at
      FROM unnest(all_wrong_at) AS attempted_at WHERE attempted_at > now - $4::interval
    ) recent
  ),
  granted AS MATERIALIZED (
    SELECT *, least(requested, greatest($3::integer - wrong - checking, 0)) AS admitted,
           CASE WHEN wrong >= $3::integer
                THEN wrong_at[wrong - $3::integer + 1] + $4::interval END AS opens_at
    FROM counted
  ),
  changed AS (
    UPDATE ${table} t
    SET wrong_at = g.wrong_at, checking = g.checking + admitted,
        checking_until = CASE WHEN admitted > 0 THEN now + $5::interval ELSE g.checking_until END,
        touched_at = now
    FROM granted g
    WHERE t.subject = g.subject AND t.client = g.client AND is_locked AND (admitted > 0 OR is_ahead)
  ),
  inserted AS (
    INSERT INTO ${table} (subject, client, checking, checking_until, touched_at)
    SELECT subject, client, admitted, now + $5::interval, now
    FROM granted WHERE NOT is_locked ORDER BY subject, client
    ON CONFLICT (subject, client) DO NOTHING RETURNING subject, client
  )
  SELECT g.subject, g.client, CASE WHEN is_locked OR i.subject IS NOT NULL THEN admitted ELSE 0 END AS admitted,
         coalesce(extract(epoch FROM opens_at - now) * 1000, 0)::float8 AS wait_ms
  FROM granted g LEFT JOIN inserted i USING (subject, client)`;

const recordSql = (table: string): string => `
  WITH verdicts AS (
    SELECT subject, client, count(*)::integer AS attempts, count(*) FILTER (WHERE is_wrong)::integer AS wrong
    FROM unnest($1::text[], $2::bytea[], $3::boolean[]) AS v (subject, client, is_wrong)
    GROUP BY subject, client
  ),
  locked AS MATERIALIZED (
    SELECT t.subject, t.client, v.attempts, v.wrong
    FROM ${table} t JOIN verdicts v USING (subject, client)
    ORDER BY t.subject, t.client FOR UPDATE OF t
  )
  UPDATE ${table} t
  SET checking = greatest(t.checking - l.attempts, 0),
      wrong_at = t.wrong_at || array_fill(clock_timestamp(), ARRAY[l.wrong]),
      touched_at = clock_timestamp()
  FROM locked l WHERE t.subject = l.subject AND t.client = l.client`;

const nameOf = (subject: string, hash: Buffer): string => `${subject} ${hash.toString('base64')}`;

/**
 * Counts the wrong attempts of a client at a link, exactly on any number of nodes: an attempt is reserved
 * before the password is checked, so that concurrent attempts cannot exceed the limit.
 */
export class Throttle {
  readonly #admissions: Batcher<ThrottledClient, Admission | null>;
  readonly #verdicts: Batcher<ThrottledClient & { verdict: Verdict }, undefined>;

  /** @param maxWrong wrong attempts of a client at a link in any period of `windowMs` */
  constructor(
    private readonly pool: Pool,
    private readonly table = visitorAttempts,
    private readonly maxWrong = 5,
  ) {
    const bounds = { maxBatch: 500, maxWaiting: 2_000 };
    this.#admissions = createBatcher({ ...bounds, run: (clients) => this.#admitAll(clients) });
    this.#verdicts = createBatcher({ ...bounds, run: (verdicts) => this.#recordAll(verdicts) });
  }

  /** @throws Overloaded */
  async admit(client: ThrottledClient): Promise<Admission> {
    const giveUpAt = performance.now() + undecidedForMs;
    for (;;) {
      const admission = await this.#admissions.submit(client);
      if (admission) return admission;
      // Other attempts of the client are being checked, and may turn out right.
      if (performance.now() >= giveUpAt) throw new Overloaded(1);
      await sleep(pollMs);
    }
  }

  recordVerdict(client: ThrottledClient, verdict: Verdict): Promise<void> {
    return this.#verdicts.submit({ ...client, verdict });
  }

  async #admitAll(clients: readonly ThrottledClient[]): Promise<readonly (Admission | null)[]> {
    const { rows } = await this.pool.query<Row>({
      name: `password-attempts-admit ${this.table}`,
      text: admitSql(this.table),
      values: [
        clients.map(({ subject }) => subject),
        clients.map(({ hash }) => hash),
        this.maxWrong,
        `${windowMs} milliseconds`,
        `${checkMs} milliseconds`,
      ],
    });
    const granted = new Map(rows.map((row) => [nameOf(row.subject, row.client), row]));
    return clients.map(({ subject, hash }) => {
      const grant = granted.get(nameOf(subject, hash));
      if (!grant) throw new Error(`the throttle returned no row for a client of ${subject}`);
      if (grant.wait_ms > 0) return { type: 'throttled', waitMs: grant.wait_ms };
      grant.admitted -= 1;
      return grant.admitted >= 0 ? { type: 'check' } : null;
    });
  }

  async #recordAll(
    verdicts: readonly (ThrottledClient & { verdict: Verdict })[],
  ): Promise<readonly undefined[]> {
    await this.pool.query({
      name: `password-attempts-record ${this.table}`,
      text: recordSql(this.table),
      values: [
        verdicts.map(({ subject }) => subject),
        verdicts.map(({ hash }) => hash),
        verdicts.map(({ verdict }) => verdict === 'wrong'),
      ],
    });
    return verdicts.map(() => undefined);
  }
}

/** Deletes rows that are older than any window, up to a limit. @returns the number of deleted rows */
export const deleteOldAttempts = async (pool: Pool, table = visitorAttempts): Promise<number> => {
  const { rowCount } = await pool.query({
    name: `password-attempts-delete ${table}`,
    text: `DELETE FROM ${table} WHERE (subject, client) IN (
             SELECT subject, client FROM ${table}
             WHERE touched_at < clock_timestamp() - $1::interval
             ORDER BY subject, client LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    values: [`${pruneAfterMs} milliseconds`, pruneLimit],
  });
  return rowCount ?? 0;
};
