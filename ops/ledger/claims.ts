import type { ClaimedCode } from '../../schemas/folds/claim.js';
import type { Client } from '../platform/postgres/pool.js';
import type { LedgerSchema } from './schema.js';

interface ClaimRow {
  readonly code: string;
  readonly key_id: string;
  readonly account: string;
  readonly expired: ClaimedCode['expired'];
  readonly blocked: boolean;
  readonly cleared: boolean;
  readonly expires_at: Date | null;
  readonly max_clicks: number | null;
  readonly clicks: number;
  readonly sequence: number;
  readonly last_event_at: Date;
}

const columns = `code, key_id, account, expired, blocked, cleared, expires_at, max_clicks, clicks,
  sequence, last_event_at`;

const claimOf = (row: ClaimRow): ClaimedCode => ({
  status: 'claimed',
  code: row.code,
  keyId: row.key_id,
  account: row.account,
  expired: row.expired,
  blocked: row.blocked,
  cleared: row.cleared,
  expiresAt: row.expires_at,
  maxClicks: row.max_clicks,
  clicks: row.clicks,
  sequence: row.sequence,
  lastEventAt: row.last_event_at,
});

const byCode = (a: ClaimedCode, b: ClaimedCode): number => (a.code < b.code ? -1 : 1);

const valuesOf = (claims: readonly ClaimedCode[]): unknown[] => {
  const sorted = [...claims].sort(byCode);
  return [
    sorted.map((claim) => claim.code),
    sorted.map((claim) => claim.keyId),
    sorted.map((claim) => claim.account),
    sorted.map((claim) => claim.expired),
    sorted.map((claim) => claim.blocked),
    sorted.map((claim) => claim.cleared),
    sorted.map((claim) => claim.expiresAt),
    sorted.map((claim) => claim.maxClicks),
    sorted.map((claim) => claim.clicks),
    sorted.map((claim) => claim.sequence),
    sorted.map((claim) => claim.lastEventAt),
  ];
};

const input = `unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[],
  $6::boolean[], $7::timestamptz[], $8::integer[], $9::integer[], $10::bigint[], $11::timestamptz[])`;

/** Claims those of the codes that are free; waits for rivals that are about to commit. */
export const insertClaims = async (
  tx: Client,
  claims: readonly ClaimedCode[],
  schema: LedgerSchema = 'ledger',
): Promise<ReadonlySet<string>> => {
  const { rows } = await tx.query<{ code: string }>({
    name: `claims-insert-${schema}`,
    text: `INSERT INTO ${schema}.links (${columns}) SELECT * FROM ${input} ORDER BY 1
           ON CONFLICT (code) DO NOTHING RETURNING code`,
    values: valuesOf(claims),
  });
  return new Set(rows.map(({ code }) => code));
};

/** Locks the codes' rows, in their order, until the transaction ends; free codes have none. */
export const lockClaims = async (
  tx: Client,
  codes: readonly string[],
  schema: LedgerSchema = 'ledger',
): Promise<ReadonlyMap<string, ClaimedCode>> => {
  const { rows } = await tx.query<ClaimRow>({
    name: `claims-lock-${schema}`,
    text: `SELECT ${columns} FROM ${schema}.links WHERE code = ANY ($1::text[])
           ORDER BY code FOR UPDATE`,
    values: [codes],
  });
  return new Map(rows.map((row) => [row.code, claimOf(row)]));
};

/** Locks links whose time is up and that nobody else holds. */
export const lockDueClaims = async (tx: Client, limit: number): Promise<readonly ClaimedCode[]> => {
  const { rows } = await tx.query<ClaimRow>({
    name: 'claims-lock-due',
    text: `SELECT ${columns} FROM ledger.links
           WHERE expired IS NULL AND expires_at <= clock_timestamp()
           ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED`,
    values: [limit],
  });
  return rows.map(claimOf);
};

/** Writes what may change of claims that the transaction has locked. */
export const saveClaims = async (
  tx: Client,
  claims: readonly ClaimedCode[],
  schema: LedgerSchema = 'ledger',
): Promise<void> => {
  if (claims.length === 0) return;
  await tx.query({
    name: `claims-save-${schema}`,
    text: `UPDATE ${schema}.links l SET expired = i.expired, blocked = i.blocked, cleared = i.cleared,
             clicks = i.clicks, sequence = i.sequence, last_event_at = i.last_event_at
           FROM ${input} AS i (${columns}) WHERE l.code = i.code`,
    values: valuesOf(claims),
  });
};
