import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBatcher, Overloaded, type Batcher } from '../../ops/platform/concurrency/batcher.js';
import type { Pool, Queryable } from '../../ops/platform/postgres/pool.js';
import { checkMs, maxWrong, windowMs } from './password-tries.js';

/** 128 bits: enough that no two clients of a link meet. */
const hashBytes = 16;

/** Hashes with the installation's key, which is read at the first use and never changes. */
export class ClientHash {
  #key: Buffer | null = null;

  constructor(private readonly postgres: Queryable) {}

  /** A client as the ledger may know it: at this link and at no other. */
  async of(code: string, network: string): Promise<Buffer> {
    this.#key ??= await this.#readKey();
    // A code has no space in it, so no two pairs are the same text.
    const hash = createHmac('sha256', this.#key).update(`${code} ${network}`).digest();
    return hash.subarray(0, hashBytes);
  }

  async #readKey(): Promise<Buffer> {
    const { rows } = await this.postgres.query<{ key: Buffer }>(
      'SELECT key FROM ledger.client_hash_key',
    );
    const found = rows[0]?.key;
    if (!found) throw new Error('The ledger has no key for hashes of clients');
    return found;
  }
}

/** A client at a link, by its `ClientHash`. */
export interface ThrottledClient {
  readonly code: string;
  readonly hash: Buffer;
}

export type TryAdmission =
  /** A try is held for the client until it is settled. */
  { readonly type: 'check' } | { readonly type: 'throttled'; readonly waitMs: number };

/** What became of a try: only a wrong one is counted. */
export type Verdict = 'right' | 'wrong' | 'unchecked';

const maxGroup = 500;
const maxWaiting = 2_000;
/** Other tries of the same client are settled within some hash times. */
const askAgainMs = 25;
const undecidedForMs = 5_000;
const pruneAfterMs = 2 * windowMs;
const pruneLimit = 5_000;

interface Row {
  readonly code: string;
  readonly client: Buffer;
  admitted: number;
  readonly wait_ms: number;
}

/**
 * Holds tries for clients that have some left; the tries being checked may all turn out wrong. The
 * rows are locked in their order, and the clock is read after that. A row that another node inserts at
 * the same moment gives no try this time: its client asks again. Refusals write nothing, but for times
 * that PostgreSQL's clock has stored while it was ahead: those are pulled back to now.
 */
const admitSql = `
  WITH asked AS (
    SELECT code, client, count(*)::integer AS asked
    FROM unnest($1::text[], $2::bytea[]) AS a (code, client) GROUP BY code, client
  ),
  held AS MATERIALIZED (
    SELECT t.* FROM ledger.password_tries t JOIN asked USING (code, client)
    ORDER BY t.code, t.client FOR UPDATE OF t
  ),
  clock AS MATERIALIZED (
    SELECT clock_timestamp() AS now FROM (SELECT count(*) FROM held) locked
  ),
  known AS (
    SELECT a.code, a.client, a.asked, now, h.code IS NOT NULL AS is_held,
           CASE WHEN died THEN 0 ELSE coalesce(h.checking, 0) END AS checking,
           least(h.checking_until, now + $5::interval) AS checking_until,
           CASE WHEN died THEN h.wrong_at || array_fill(h.checking_until, ARRAY[h.checking])
                ELSE coalesce(h.wrong_at, '{}') END AS ever_wrong_at,
           coalesce(h.touched_at > now OR h.checking_until > now + $5::interval, false) AS is_ahead
    FROM asked a CROSS JOIN clock LEFT JOIN held h USING (code, client)
    CROSS JOIN LATERAL (SELECT coalesce(h.checking > 0 AND h.checking_until <= now, false) AS died) d
  ),
  counted AS (
    SELECT k.*, wrong_at, cardinality(wrong_at) AS wrong
    FROM known k
    CROSS JOIN LATERAL (
      SELECT coalesce(array_agg(least(tried_at, now) ORDER BY tried_at), '{}') AS wrong_at
      FROM unnest(ever_wrong_at) AS tried_at WHERE tried_at > now - $4::interval
    ) recent
  ),
  granted AS MATERIALIZED (
    SELECT *, least(asked, greatest($3::integer - wrong - checking, 0)) AS admitted,
           CASE WHEN wrong >= $3::integer
                THEN wrong_at[wrong - $3::integer + 1] + $4::interval END AS opens_at
    FROM counted
  ),
  changed AS (
    UPDATE ledger.password_tries t
    SET wrong_at = g.wrong_at, checking = g.checking + admitted,
        checking_until = CASE WHEN admitted > 0 THEN now + $5::interval ELSE g.checking_until END,
        touched_at = now
    FROM granted g
    WHERE t.code = g.code AND t.client = g.client AND is_held AND (admitted > 0 OR is_ahead)
  ),
  made AS (
    INSERT INTO ledger.password_tries (code, client, checking, checking_until, touched_at)
    SELECT code, client, admitted, now + $5::interval, now
    FROM granted WHERE NOT is_held ORDER BY code, client
    ON CONFLICT (code, client) DO NOTHING RETURNING code, client
  )
  SELECT g.code, g.client, CASE WHEN is_held OR m.code IS NOT NULL THEN admitted ELSE 0 END AS admitted,
         coalesce(extract(epoch FROM opens_at - now) * 1000, 0)::float8 AS wait_ms
  FROM granted g LEFT JOIN made m USING (code, client)`;

const settleSql = `
  WITH settled AS (
    SELECT code, client, count(*)::integer AS tries, count(*) FILTER (WHERE is_wrong)::integer AS wrong
    FROM unnest($1::text[], $2::bytea[], $3::boolean[]) AS s (code, client, is_wrong)
    GROUP BY code, client
  ),
  held AS MATERIALIZED (
    SELECT t.code, t.client, s.tries, s.wrong
    FROM ledger.password_tries t JOIN settled s USING (code, client)
    ORDER BY t.code, t.client FOR UPDATE OF t
  )
  UPDATE ledger.password_tries t
  SET checking = greatest(t.checking - h.tries, 0),
      wrong_at = t.wrong_at || array_fill(clock_timestamp(), ARRAY[h.wrong]),
      touched_at = clock_timestamp()
  FROM held h WHERE t.code = h.code AND t.client = h.client`;

const nameOf = (code: string, hash: Buffer): string => `${code} ${hash.toString('base64')}`;

/**
 * Counts wrong tries for a link and client, exactly on any number of nodes: a try is held before
 * the password is checked, so that those that come at once cannot all pass.
 */
export class Throttle {
  readonly #admissions: Batcher<ThrottledClient, TryAdmission | null>;
  readonly #settlements: Batcher<ThrottledClient & { verdict: Verdict }, undefined>;

  constructor(private readonly pool: Pool) {
    const bounds = { maxBatch: maxGroup, maxWaiting };
    this.#admissions = createBatcher({ ...bounds, run: (clients) => this.#admitAll(clients) });
    this.#settlements = createBatcher({ ...bounds, run: (settled) => this.#settleAll(settled) });
  }

  /** @throws Overloaded */
  async admit(client: ThrottledClient): Promise<TryAdmission> {
    const giveUpAt = performance.now() + undecidedForMs;
    for (;;) {
      const decided = await this.#admissions.submit(client);
      if (decided) return decided;
      // Other tries of the same client are being checked, and may turn out right.
      if (performance.now() >= giveUpAt) throw new Overloaded(1);
      await sleep(askAgainMs);
    }
  }

  settle(client: ThrottledClient, verdict: Verdict): Promise<void> {
    return this.#settlements.submit({ ...client, verdict });
  }

  async #admitAll(clients: readonly ThrottledClient[]): Promise<readonly (TryAdmission | null)[]> {
    const { rows } = await this.pool.query<Row>({
      name: 'password-tries-admit',
      text: admitSql,
      values: [
        clients.map(({ code }) => code),
        clients.map(({ hash }) => hash),
        maxWrong,
        `${windowMs} milliseconds`,
        `${checkMs} milliseconds`,
      ],
    });
    const granted = new Map(rows.map((row) => [nameOf(row.code, row.client), row]));
    return clients.map(({ code, hash }) => {
      const grant = granted.get(nameOf(code, hash));
      if (!grant) throw new Error('A client was left undecided');
      if (grant.wait_ms > 0) return { type: 'throttled', waitMs: grant.wait_ms };
      grant.admitted -= 1;
      return grant.admitted >= 0 ? { type: 'check' } : null;
    });
  }

  async #settleAll(
    settled: readonly (ThrottledClient & { verdict: Verdict })[],
  ): Promise<readonly undefined[]> {
    await this.pool.query({
      name: 'password-tries-settle',
      text: settleSql,
      values: [
        settled.map(({ code }) => code),
        settled.map(({ hash }) => hash),
        settled.map(({ verdict }) => verdict === 'wrong'),
      ],
    });
    return settled.map(() => undefined);
  }
}

/** Deletes rows that no window needs any more. @returns how many */
export const forgetTries = async (pool: Pool): Promise<number> => {
  const { rowCount } = await pool.query({
    name: 'password-tries-forget',
    text: `DELETE FROM ledger.password_tries WHERE (code, client) IN (
             SELECT code, client FROM ledger.password_tries
             WHERE touched_at < clock_timestamp() - $1::interval
             ORDER BY code, client LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    values: [`${pruneAfterMs} milliseconds`, pruneLimit],
  });
  return rowCount ?? 0;
};
