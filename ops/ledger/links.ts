import {
  evolveLedgerLink,
  freeCode,
  type LedgerLink,
  type LedgerLinkEvent,
  type LedgerLinkState,
} from '../../schemas/folds/ledger-link.js';
import { valuesByField, type Client } from '../platform/postgres/pool.js';
import type { LedgerSchema, LedgerState } from './decide.js';

/** The columns of a link's row, each with the field of `LedgerLink` that it holds. */
const fields = {
  code: 'code',
  key_id: 'keyId',
  account: 'account',
  expired: 'expired',
  blocked: 'blocked',
  cleared: 'cleared',
  expires_at: 'expiresAt',
  max_clicks: 'maxClicks',
  clicks: 'clicks',
  sequence: 'sequence',
  last_event_at: 'lastEventAt',
} as const satisfies Record<string, keyof LedgerLink>;

const columns = Object.keys(fields).join(', ');
const aliased = Object.entries(fields).map(([column, field]) => `${column} AS "${field}"`);
const selected = `'taken' AS status, ${aliased.join(', ')}`;

const byCode = (a: LedgerLink, b: LedgerLink): number => (a.code < b.code ? -1 : 1);

const valuesOf = (links: readonly LedgerLink[]): unknown[] =>
  valuesByField([...links].sort(byCode), ...Object.values(fields));

const input = `unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[],
  $6::boolean[], $7::timestamptz[], $8::integer[], $9::integer[], $10::bigint[], $11::timestamptz[])`;

/** Takes those of the codes that are free; waits for rivals that are about to commit. */
export const insertLinks = async (
  tx: Client,
  links: readonly LedgerLink[],
  schema: LedgerSchema = 'ledger',
): Promise<ReadonlySet<string>> => {
  const { rows } = await tx.query<{ code: string }>({
    name: `links-insert-${schema}`,
    text: `INSERT INTO ${schema}.links (${columns}) SELECT * FROM ${input} ORDER BY 1
           ON CONFLICT (code) DO NOTHING RETURNING code`,
    values: valuesOf(links),
  });
  return new Set(rows.map(({ code }) => code));
};

/** Locks the codes' rows, in their order, until the transaction ends; free codes have none. */
export const lockLinks = async (
  tx: Client,
  codes: readonly string[],
  schema: LedgerSchema = 'ledger',
): Promise<ReadonlyMap<string, LedgerLink>> => {
  const { rows } = await tx.query<LedgerLink>({
    name: `links-lock-${schema}`,
    text: `SELECT ${selected} FROM ${schema}.links WHERE code = ANY ($1::text[])
           ORDER BY code FOR UPDATE`,
    values: [codes],
  });
  return new Map(rows.map((link) => [link.code, link]));
};

/** Locks links whose time is up and that nobody else holds. */
export const lockDueLinks = async (
  tx: Client,
  limit: number,
): Promise<ReadonlyMap<string, LedgerLink>> => {
  const { rows } = await tx.query<LedgerLink>({
    name: 'links-lock-due',
    text: `SELECT ${selected} FROM ledger.links
           WHERE expired IS NULL AND expires_at <= clock_timestamp()
           ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED`,
    values: [limit],
  });
  return new Map(rows.map((link) => [link.code, link]));
};

/** Writes what may change of links that the transaction has locked. */
export const saveLinks = async (
  tx: Client,
  links: readonly LedgerLink[],
  schema: LedgerSchema = 'ledger',
): Promise<void> => {
  if (links.length === 0) return;
  await tx.query({
    name: `links-save-${schema}`,
    text: `UPDATE ${schema}.links l SET expired = i.expired, blocked = i.blocked, cleared = i.cleared,
             clicks = i.clicks, sequence = i.sequence, last_event_at = i.last_event_at
           FROM ${input} AS i (${columns}) WHERE l.code = i.code`,
    values: valuesOf(links),
  });
};

export const ledgerLinks: LedgerState<LedgerLinkState, LedgerLinkEvent> = {
  initial: freeCode,
  lock: lockLinks,
  evolve: evolveLedgerLink,
  save: (tx, states) =>
    saveLinks(
      tx,
      [...states.values()].filter((state) => state.status === 'taken'),
    ),
  // What edges have in memory: a visit alone changes nothing there.
  changeOf: ({ type, subject: code, sequence }) =>
    type === 'linklog.LinkVisited.v1' ? null : { kind: 'link', code, sequence },
};
