import type { DomainEvent } from '../../schemas/events/catalogue.js';
import {
  noRedirects,
  type Domain,
  type DomainOwner,
  type DomainRedirects,
} from '../../schemas/folds/domain.js';
import type { Client, Queryable } from '../platform/postgres/pool.js';
import type { LedgerRows, LedgerSchema } from './decide.js';
import { selected, upsert } from './rows.js';

/** The columns of the owner if no account has the domain. */
const noOwner = {
  ...{ account: null, createdAt: null, verifiedAt: null, token: null },
  ...noRedirects,
};

/** A row of `ledger.domains`. */
type DomainRow = Omit<Domain, 'owner'> & { readonly domain: string } & (
    | typeof noOwner
    | (Omit<DomainOwner, 'createdAt' | 'verifiedAt'> & Record<'createdAt' | 'verifiedAt', Date>)
  );

/** A prepared `SELECT *` would fail after a migration that adds a column. */
const columns = selected([
  ...['domain', ...Object.keys(noOwner), 'claims', 'caseInsensitive', 'sequence', 'lastEventAt'],
]);

const ownerOf = (row: DomainRow): DomainOwner | null => {
  if (row.account === null) return null;
  const { account, token, rootRedirect, notFoundRedirect, expiredRedirect } = row;
  return {
    ...{ account, token, rootRedirect, notFoundRedirect, expiredRedirect },
    ...{ createdAt: row.createdAt.toISOString(), verifiedAt: row.verifiedAt.toISOString() },
  };
};

const domainOfRow = (row: DomainRow): Domain => {
  const { claims, caseInsensitive, sequence, lastEventAt } = row;
  return { owner: ownerOf(row), claims, caseInsensitive, sequence, lastEventAt };
};

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

export const domains: LedgerRows<Domain, DomainEvent> = {
  lock: lockDomains,
  save: (states, schema = 'ledger') =>
    Array.from(states, ([name, { owner, ...domain }]) =>
      upsert(`${schema}.domains`, 'domain', { domain: name, ...noOwner, ...owner, ...domain }),
    ),
  // A claim changes nothing for visitors.
  changeOf: ({ type, subject: domain }) =>
    type === 'linklog.DomainClaimed.v2' ? null : { kind: 'domain', domain },
};

const readWhere = async (
  postgres: Queryable,
  name: string,
  condition: string,
  values: readonly unknown[],
): Promise<ReadonlyMap<string, Domain>> => {
  const text = `SELECT ${columns} FROM ledger.domains WHERE ${condition}`;
  const { rows } = await postgres.query<DomainRow>({ name, text, values: [...values] });
  return new Map(rows.map((row) => [row.domain, domainOfRow(row)]));
};

/** The domains of these names that an account ever claimed. */
export const readDomains = (postgres: Queryable, names: readonly string[]) =>
  readWhere(postgres, 'domains-named', 'domain = ANY ($1::text[])', [names]);

/** The domains that accounts have after a name, in the order of names. */
export const readOwnedDomains = (
  postgres: Queryable,
  after: string,
  limit: number,
  withClaims = false,
) => {
  const condition = `(account IS NOT NULL OR $3::boolean AND claims <> '{}') AND domain > $1
    ORDER BY domain LIMIT $2`;
  return readWhere(postgres, 'domains-owned', condition, [after, limit, withClaims]);
};

/** The domains after a name that an account has, or has claimed after a time, in the order of names. */
export const readDomainsOf = (
  postgres: Queryable,
  account: string,
  bounds: { readonly after: string; readonly limit: number; readonly claimedAfter: Date },
) => {
  const condition = `(account = $1 OR claims @> jsonb_build_object($1::text, '{}'::jsonb)
      AND (claims -> $1 ->> 'claimedAt')::timestamptz > $4)
    AND domain > $2 ORDER BY domain LIMIT $3`;
  const values = [account, bounds.after, bounds.limit, bounds.claimedAfter];
  return readWhere(postgres, 'domains-of-account', condition, values);
};

/** A domain that an account has: what redirects and new links need. */
export interface ActiveDomain extends DomainRedirects {
  readonly domain: string;
  readonly account: string;
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
    text: `SELECT ${selected(['domain', 'account', ...Object.keys(noRedirects), 'caseInsensitive'])}
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
