import type { Pool } from '../../ops/platform/postgres/pool.js';

/** The last link that a scan has seen. */
export interface ScanPosition {
  /** Since when it leads to its destination. */
  readonly liveSince: Date;
  readonly code: string;
}

export interface LiveLink extends ScanPosition {
  readonly url: string;
}

/** A scan that is this process's to go on with until its lease is over. */
export interface Lease extends ScanPosition {
  readonly name: string;
  /** Names the lease: a row that says otherwise was taken up by another process meanwhile. */
  readonly until: string;
}

export const theBeginning: ScanPosition = { liveSince: new Date(0), code: '' };

const later = (ms: string): string =>
  `coalesce(clock_timestamp() + ${ms}::float8 * interval '1 millisecond', 'infinity')`;

/** Makes scans known that nobody has begun, due at once; those that are known stay where they are. */
export const announceScans = async (pool: Pool, names: readonly string[]): Promise<void> => {
  await pool.query(
    `INSERT INTO ledger.safety_scans (name, due_at)
     SELECT name, clock_timestamp() FROM unnest($1::text[]) AS w (name)
     ON CONFLICT (name) DO NOTHING`,
    [names],
  );
};

/** Forgets scans of this kind that have come to their end, save one. */
export const forgetScans = async (pool: Pool, prefix: string, but: string): Promise<void> => {
  await pool.query(
    `DELETE FROM ledger.safety_scans
     WHERE starts_with(name, $1) AND name <> $2 AND due_at = 'infinity'`,
    [prefix, but],
  );
};

/** A scan by its name, and the longest time after which it goes on, in milliseconds. */
export interface KnownScan {
  readonly name: string;
  readonly longestMs: number;
}

/**
 * Takes up one of these scans that is due, for so long; `null` when there is none. A scan that is due later than
 * it can be, and a place that no link has reached, are of a clock that was ahead: that scan goes on now.
 */
export const takeLease = async (
  pool: Pool,
  scans: readonly KnownScan[],
  leaseMs: number,
): Promise<Lease | null> => {
  const { rows } = await pool.query<Lease>({
    name: 'safety-scans-take',
    text: `UPDATE ledger.safety_scans w SET due_at = ${later('$2')}
           FROM (SELECT s.name FROM ledger.safety_scans s
                 JOIN unnest($1::text[], $3::float8[]) AS k (name, longest_ms) USING (name)
                 WHERE due_at <= clock_timestamp()
                    OR (due_at > clock_timestamp() + longest_ms * interval '1 millisecond'
                        AND due_at < 'infinity')
                 ORDER BY due_at LIMIT 1 FOR UPDATE OF s SKIP LOCKED) due
           WHERE w.name = due.name
           RETURNING w.name, least(past_created_at, clock_timestamp()) AS "liveSince", past_code AS code,
                     w.due_at::text AS until`,
    values: [scans.map(({ name }) => name), leaseMs, scans.map(({ longestMs }) => longestMs)],
  });
  return rows[0] ?? null;
};

/** Ends a lease: the scan goes on from that place, so much later; never, where that is `null`. */
export const endLease = async (
  pool: Pool,
  { name, until }: Lease,
  place: ScanPosition,
  restMs: number | null,
): Promise<void> => {
  await pool.query({
    name: 'safety-scans-end-lease',
    text: `UPDATE ledger.safety_scans
           SET past_created_at = $3, past_code = $4, due_at = ${later('$5')}
           WHERE name = $1 AND due_at = $2::timestamptz`,
    values: [name, until, place.liveSince, place.code, restMs],
  });
};

/**
 * The next live links behind a place that have an age. From the projection: what it is late with is
 * found by a later scan, and what it does not know yet to be expired or blocked is decided in the
 * ledger.
 */
export const readLiveLinks = async (
  pool: Pool,
  { liveSince, code }: ScanPosition,
  ageMs: number,
  limit: number,
): Promise<readonly LiveLink[]> => {
  const { rows } = await pool.query<LiveLink>({
    // Without a name, so that it is planned each time: a plan made while there were few links reads and sorts
    // all of them for each page, and would be kept until the table is analyzed.
    // Not clock_timestamp(): the index could not end the scan there, and what is too young be read.
    text: `SELECT code, url, coalesce(live_since, created_at) AS "liveSince"
           FROM projection_redirects.links
           WHERE status = 'active'
             AND (coalesce(live_since, created_at), code) > ($1::timestamptz, $2::text)
             AND coalesce(live_since, created_at)
               <= statement_timestamp() - $3::float8 * interval '1 millisecond'
           ORDER BY coalesce(live_since, created_at), code LIMIT $4`,
    values: [liveSince, code, ageMs, limit],
  });
  return rows;
};
