import type { DomainEvent } from '../../schemas/events/catalogue.js';
import type { Domain, DomainClaim } from '../../schemas/folds/domain.js';
import type { Client, Queryable } from '../platform/postgres/pool.js';
import { upsert, type LedgerRows, type LedgerSchema } from './decide.js';

/** A row of `ledger.domains`. The columns of the owner are `null` if no account has the domain. */
interface DomainRow {
  readonly domain: string;
  readonly account: string | null;
  readonly created_at: Date | null;
  readonly verified_at: Date | null;
  readonly token: string | null;
  readonly root_redirect: string | null;
  readonly not_found_redirect: string | null;
  readonly expired_redirect: string | null;
  readonly claims: Readonly<Record<string, DomainClaim>>;
  readonly case_insensitive: boolean;
  readonly sequence: number;
  readonly last_event_at: Date;
}

/** A prepared `SELECT *` would fail after a migration that adds a column. */
const columns = `domain, account, created_at, verified_at, token, root_redirect, not_found_redirect,
  expired_redirect, claims, case_insensitive, sequence, last_event_at`;

const domainOfRow = (row: DomainRow): Domain => ({
  owner:
    row.account === null || row.created_at === null || row.verified_at === null
      ? null
      : {
          account: row.account,
          createdAt: row.created_at.toISOString(),
          verifiedAt: row.verified_at.toISOString(),
          token: row.token,
          rootRedirect: row.root_redirect,
          notFoundRedirect: row.not_found_redirect,
          expiredRedirect: row.expired_redirect,
        },
  claims: row.claims,
  caseInsensitive: row.case_insensitive,
  sequence: row.sequence,
  lastEventAt: row.last_event_at,
});

/** Locks the table against the few other writers: a new domain has no row, and a plan limits the domains of an account. */
export const lockDomains = async (
  tx: Client,
  names: readonly string[],
  schema: LedgerSchema = 'ledger',
): Promise<ReadonlyMap<string, Domain>> => {
  await tx.query(`LOCK TABLE ${schema}.domains IN SHARE ROW EXCLUSIVE MODE`);
  const { rows } = await tx.query<DomainRow>(
    `SELECT ${columns} FROM ${schema}.domains WHERE domain = ANY ($1::text[]) ORDER BY domain FOR UPDATE`,
    [names],
  );
  return new Map(rows.map((row) => [row.domain, domainOfRow(row)]));
};

const rowOfDomain = (
  domain: string,
  { owner, claims, caseInsensitive, sequence, lastEventAt }: Domain,
) => ({
  domain,
  account: owner?.account,
  created_at: owner?.createdAt,
  verified_at: owner?.verifiedAt,
  token: owner?.token,
  root_redirect: owner?.rootRedirect,
  not_found_redirect: owner?.notFoundRedirect,
  expired_redirect: owner?.expiredRedirect,
  claims,
  case_insensitive: caseInsensitive,
  sequence,
  last_event_at: lastEventAt,
});

export const domains: LedgerRows<Domain, DomainEvent> = {
  lock: lockDomains,
  save: (states, schema = 'ledger') =>
    Array.from(states, ([name, domain]) =>
      upsert(`${schema}.domains`, 'domain', rowOfDomain(name, domain)),
    ),
  // A claim changes nothing for visitors.
  changeOf: ({ type, subject: domain }) =>
    type === 'linklog.DomainClaimed.v2' ? null : { kind: 'domain', domain },
};

/** The domains of these names that an account ever claimed. */
export const readDomains = async (
  postgres: Queryable,
  names: readonly string[],
): Promise<ReadonlyMap<string, Domain>> => {
  const { rows } = await postgres.query<DomainRow>({
    name: 'domains-named',
    text: `SELECT ${columns} FROM ledger.domains WHERE domain = ANY ($1::text[])`,
    values: [names],
  });
  return new Map(rows.map((row) => [row.domain, domainOfRow(row)]));
};

/** The domains that accounts have after a name, in the order of names. */
export const readOwnedDomains = async (
  postgres: Queryable,
  after: string,
  limit: number,
): Promise<ReadonlyMap<string, Domain>> => {
  const { rows } = await postgres.query<DomainRow>({
    name: 'domains-owned',
    text: `SELECT ${columns} FROM ledger.domains WHERE account IS NOT NULL AND domain > $1
           ORDER BY domain LIMIT $2`,
    values: [after, limit],
  });
  return new Map(rows.map((row) => [row.domain, domainOfRow(row)]));
};

/** The domains after a name that an account has, or has claimed after a time, in the order of names. */
export const readDomainsOf = async (
  postgres: Queryable,
  account: string,
  bounds: { readonly after: string; readonly limit: number; readonly claimedAfter: Date },
): Promise<ReadonlyMap<string, Domain>> => {
  const { after, limit, claimedAfter } = bounds;
  const { rows } = await postgres.query<DomainRow>({
    name: 'domains-of-account',
    text: `SELECT ${columns} FROM ledger.domains
           WHERE (account = $1 OR claims @> jsonb_build_object($1::text, '{}'::jsonb)
               AND (claims -> $1 ->> 'claimedAt')::timestamptz > $4)
             AND domain > $2
           ORDER BY domain LIMIT $3`,
    values: [account, after, limit, claimedAfter],
  });
  return new Map(rows.map((row) => [row.domain, domainOfRow(row)]));
};

/** A domain that an account has: what redirects and new links need. */
export interface ActiveDomain {
  readonly domain: string;
  readonly account: string;
  readonly rootRedirect: string | null;
  readonly notFoundRedirect: string | null;
  readonly expiredRedirect: string | null;
  /** Whether letters of either case are the same in its codes. */
  readonly caseInsensitive: boolean;
}

/** An active domain, or a released one with case-insensitive codes, whose links their owner can still change. */
export type KnownDomain =
  ActiveDomain | (Omit<ActiveDomain, 'account'> & { readonly account: null });

/** The known domains of these names; `null`: all. */
export const readKnownDomains = async (
  postgres: Queryable,
  names: readonly string[] | null,
): Promise<readonly KnownDomain[]> => {
  const { rows } = await postgres.query<KnownDomain>({
    name: names === null ? 'domains-known' : 'domains-known-named',
    text: `SELECT domain, account, root_redirect AS "rootRedirect",
             not_found_redirect AS "notFoundRedirect", expired_redirect AS "expiredRedirect",
             case_insensitive AS "caseInsensitive"
           FROM ledger.domains
           WHERE (account IS NOT NULL OR case_insensitive)
             ${names === null ? '' : 'AND domain = ANY ($1::text[])'}`,
    values: names === null ? [] : [names],
  });
  return rows;
};

/** An active domain in a transaction that creates links on it. */
export interface LockedDomain {
  readonly account: string;
  readonly caseInsensitive: boolean;
  /** Milliseconds since the account has it. */
  readonly age: number;
}

/** Active domains, by name. Their accounts keep them until the transaction ends. */
export const lockActiveDomains = async (
  tx: Client,
  names: readonly string[],
): Promise<ReadonlyMap<string, LockedDomain>> => {
  if (names.length === 0) return new Map();
  const { rows } = await tx.query<LockedDomain & { readonly domain: string }>({
    name: 'domains-lock-active',
    text: `SELECT domain, account, case_insensitive AS "caseInsensitive",
             (extract(epoch FROM clock_timestamp() - verified_at) * 1000)::bigint AS age
           FROM ledger.domains
           WHERE domain = ANY ($1::text[]) AND account IS NOT NULL ORDER BY domain FOR SHARE`,
    values: [names],
  });
  return new Map(rows.map(({ domain, ...locked }) => [domain, locked]));
};
