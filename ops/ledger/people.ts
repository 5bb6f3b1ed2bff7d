import { createHash } from 'node:crypto';
import type { PersonEvent } from '../../schemas/events/catalogue.js';
import type { Person, PersonRole } from '../../schemas/folds/person.js';
import { roleNames, scopesOfRole } from '../../schemas/roles.js';
import { advisoryLocks } from '../advisory-locks.js';
import type { Client, Queryable } from '../platform/postgres/pool.js';
import type { LedgerRows, LedgerSchema } from './decide.js';
import { upsert } from './rows.js';

/**
 * What a session of a person in an account is bound to, in place of the hash of a secret. No client can present it: the
 * hash of a key is that of a text with another form.
 */
export const roleHash = (personId: string, account: string): Buffer =>
  createHash('sha256').update(`${personId} ${account}`).digest();

/** An SQL expression: the scopes of a role. */
export const scopesOf = (role: string): string =>
  `CASE ${role} ${roleNames.map((name) => `WHEN '${name}' THEN '{${scopesOfRole(name).join()}}'::text[]`).join(' ')} END`;

interface PersonRow extends Omit<Person, 'roles' | 'createdAt'> {
  readonly id: string;
  readonly createdAt: Date;
  readonly roles: Readonly<Record<string, unknown>>[] | null;
}

type StoredRole = PersonRole & { readonly account: string };

const personOfRow = ({ roles, createdAt, ...row }: PersonRow): Person => ({
  ...{ issuer: row.issuer, identity: row.identity, name: row.name, email: row.email },
  ...{ sequence: row.sequence, lastEventAt: row.lastEventAt },
  createdAt: createdAt.toISOString(),
  roles: new Map(
    (roles as readonly StoredRole[] | null)?.map(({ account, role, source, addedAt }) => [
      account,
      { role, source, addedAt: new Date(addedAt).toISOString() },
    ]),
  ),
});

const columns = (schema: LedgerSchema): string => `
  p.id, p.issuer, p.identity, p.name, p.email, p.created_at AS "createdAt", p.sequence,
  p.last_event_at AS "lastEventAt",
  (SELECT json_agg(json_build_object('account', r.account, 'role', r.role, 'source', r.source, 'addedAt', r.added_at))
   FROM ${schema}.roles r WHERE r.person_id = p.id) AS roles`;

export const people: LedgerRows<Person, PersonEvent> = {
  /** Locks all people, because an account needs an owner: changes of roles are rare. */
  async lock(tx, ids, schema = 'ledger') {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [advisoryLocks.people]);
    return readPeople(tx, ids, schema);
  },
  save: (states, schema = 'ledger') =>
    [...states].flatMap(([id, person]) => {
      const { issuer, identity, name, email, roles, createdAt, sequence, lastEventAt } = person;
      const row = {
        ...{ id, issuer, identity, name, email, created_at: createdAt },
        ...{ sequence, last_event_at: lastEventAt },
      };
      const stored = Array.from(roles, ([account, role]) => ({ account, ...role }));
      return [
        upsert(`${schema}.people`, 'id', row),
        {
          text: `DELETE FROM ${schema}.roles WHERE person_id = $1 AND account <> ALL ($2::text[])`,
          values: [id, [...roles.keys()]],
        },
        ...stored.map(({ account, role, source, addedAt }) =>
          upsert(`${schema}.roles`, 'account, person_id', {
            ...{ person_id: id, account, role, source, added_at: addedAt },
            hash: roleHash(id, account),
          }),
        ),
      ];
    }),
};

export const readPeople = async (
  postgres: Queryable,
  ids: readonly string[],
  schema: LedgerSchema = 'ledger',
): Promise<ReadonlyMap<string, Person>> => {
  const { rows } = await postgres.query<PersonRow>(
    `SELECT ${columns(schema)} FROM ${schema}.people p WHERE p.id = ANY ($1::text[])`,
    [ids],
  );
  return new Map(rows.map((row) => [row.id, personOfRow(row)]));
};

/** The ID of the person with an identity at a provider; `null` if it is unknown. */
export const findPersonId = async (
  postgres: Queryable,
  issuer: string,
  identity: string,
): Promise<string | null> => {
  const { rows } = await postgres.query<{ id: string }>(
    'SELECT id FROM ledger.people WHERE issuer = $1 AND identity = $2',
    [issuer, identity],
  );
  return rows[0]?.id ?? null;
};

/** Which of the accounts have an owner other than this person. Call it under the lock of `people`. */
export const accountsWithOtherOwner = async (
  tx: Client,
  accounts: readonly string[],
  personId: string,
): Promise<ReadonlySet<string>> => {
  const { rows } = await tx.query<{ account: string }>(
    `SELECT DISTINCT account FROM ledger.roles
     WHERE account = ANY ($1::text[]) AND role = 'owner' AND person_id <> $2`,
    [accounts, personId],
  );
  return new Set(rows.map(({ account }) => account));
};

/** A person, with the time of its last session to the hour. */
export type ListedPerson = Person & { readonly id: string; readonly lastSeenAt: Date | null };

const listed = async (
  postgres: Queryable,
  condition: string,
  values: readonly unknown[],
): Promise<readonly ListedPerson[]> => {
  const { rows } = await postgres.query<PersonRow & { readonly lastSeenAt: Date | null }>(
    `SELECT ${columns('ledger')}, p.last_seen_at AS "lastSeenAt" FROM ledger.people p WHERE ${condition}`,
    [...values],
  );
  return rows.map((row) => ({ ...personOfRow(row), id: row.id, lastSeenAt: row.lastSeenAt }));
};

/** People with roles, by ID: those of an account, or all. */
export const listPeople = (
  postgres: Queryable,
  account: string | null,
  limit: number,
  after: string,
): Promise<readonly ListedPerson[]> =>
  listed(
    postgres,
    `p.id > $2 AND EXISTS (
       SELECT FROM ledger.roles r
       WHERE r.person_id = p.id AND ($3::text IS NULL OR r.account = $3))
     ORDER BY p.id LIMIT $1`,
    [limit, after, account],
  );

export const findPerson = async (postgres: Queryable, id: string): Promise<ListedPerson | null> =>
  (await listed(postgres, 'p.id = $1', [id]))[0] ?? null;
