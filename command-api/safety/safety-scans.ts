import type { LeadingLink } from '../../schemas/link-options.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';

/** The last scanned link. */
export interface ScanPosition {
  /** When it began to redirect to its destination. */
  readonly liveSince: Date;
  readonly subject: string;
}

export type LiveLink = ScanPosition & LeadingLink;

/** A scan that this process may continue until the lease ends. */
export interface Lease extends ScanPosition {
  readonly name: string;
  /** Identifies the lease: if the row differs, another process has the scan. */
  readonly until: string;
}

export const oldestPosition: ScanPosition = { liveSince: new Date(0), subject: '' };

const later = (ms: string): string =>
  `coalesce(clock_timestamp() + ${ms}::float8 * interval '1 millisecond', 'infinity')`;

/** Inserts new scans, due now. */
export const announceScans = async (pool: Pool, names: readonly string[]): Promise<void> => {
  await pool.query(
    `INSERT INTO ledger.safety_scans (name, due_at)
     SELECT name, clock_timestamp() FROM unnest($1::text[]) AS w (name)
     ON CONFLICT (name) DO NOTHING`,
    [names],
  );
};

/** Deletes ended scans with a prefix, except one. */
export const deleteEndedScans = async (
  pool: Pool,
  prefix: string,
  except: string,
): Promise<void> => {
  await pool.query(
    `DELETE FROM ledger.safety_scans
     WHERE starts_with(name, $1) AND name <> $2 AND due_at = 'infinity'`,
    [prefix, except],
  );
};

interface KnownScan {
  readonly name: string;
  /** The longest possible pause (ms). */
  readonly longestMs: number;
}

/**
 * Leases one due scan; `null` if there is none. If a due time is later than the longest pause allows, or the position is
 * in the future (the clock was wrong then), the scan continues now.
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
           RETURNING w.name, least(past_created_at, clock_timestamp()) AS "liveSince", past_subject AS subject,
                     w.due_at::text AS until`,
    values: [scans.map(({ name }) => name), leaseMs, scans.map(({ longestMs }) => longestMs)],
  });
  return rows[0] ?? null;
};

/** Ends a lease: the scan continues after `position` in `restMs`, or never (`null`). */
export const endLease = async (
  pool: Pool,
  { name, until }: Lease,
  position: ScanPosition,
  restMs: number | null,
): Promise<void> => {
  await pool.query({
    name: 'safety-scans-end-lease',
    text: `UPDATE ledger.safety_scans
           SET past_created_at = $3, past_subject = $4, due_at = ${later('$5')}
           WHERE name = $1 AND due_at = $2::timestamptz`,
    values: [name, until, position.liveSince, position.subject, restMs],
  });
};

/** Options of links are read up to this size (bytes of JSON), which parses within a few milliseconds. */
const maxOptionsBytes = 500_000;

/**
 * The next live links of a minimum age, from the projection: up to `limit`, and up to `maxOptionsBytes` or one link. Links
 * that are not projected yet are found by a later scan, and the ledger decides about links that are already expired or
 * blocked.
 */
export const readLiveLinks = async (
  pool: Pool,
  { liveSince, subject }: ScanPosition,
  ageMs: number,
  limit: number,
): Promise<{ readonly links: readonly LiveLink[]; readonly hasMore: boolean }> => {
  const { rows } = await pool.query<LiveLink & { readonly found: number }>({
    // Without a name, so that it is planned each time: a cached plan from when there were few links would sort
    // all links for each page. Not clock_timestamp(), which is volatile and cannot be an index condition.
    text: `SELECT subject, url, options, "liveSince", found
           FROM (
             SELECT *, count(*) OVER () AS found,
               sum(octet_length(options::text)) OVER (ORDER BY "liveSince", subject
                 ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
             FROM (
               SELECT subject, url, options, coalesce(live_since, created_at) AS "liveSince"
               FROM projection_redirects.links
               WHERE status = 'active'
                 AND (coalesce(live_since, created_at), subject) > ($1::timestamptz, $2::text)
                 AND coalesce(live_since, created_at)
                   <= statement_timestamp() - $3::float8 * interval '1 millisecond'
               ORDER BY coalesce(live_since, created_at), subject LIMIT $4) page) sized
           WHERE coalesce(bytes_before, 0) < ${maxOptionsBytes} ORDER BY "liveSince", subject`,
    values: [liveSince, subject, ageMs, limit],
  });
  const found = rows[0]?.found ?? 0;
  return { links: rows, hasMore: found === limit || rows.length < found };
};
