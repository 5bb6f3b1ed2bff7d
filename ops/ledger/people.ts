import { createHash } from 'node:crypto';
import type { PersonEvent } from '../../schemas/events/catalogue.js';
import type { Person, PersonRole } from '../../schemas/folds/person.js';
import { roleNames, scopesOfRole } from '../../schemas/roles.js';
import { advisoryLocks } from '../advisory-locks.js';
import type { Client, Queryable } from '../platform/postgres/pool.js';
import type { LedgerRows, LedgerSchema } from './decide.js';
import { selected, upsert } from './rows.js';

/**
 * What a session of a person in an account is bound to, in place of the hash of a secret. No client can present it: the
 * hash of a key is that of a text with another form.
 */
export const roleHash = (personId: string, account: string): Buffer =>
  createHash('sha256').update(`${personId} ${account}`).digest();

/** An SQL expression: the scopes of a role. */
export const scopesOf = (role: string): string =>
  `CASE ${role} ${roleNames.map((name) => `WHEN '${name}' THEN '{${scopesOfRole(name).join()}}'::text[]`).join(' ')} END`;

/** A person, with the time of its last session to the hour. */
export type ListedPerson = Person & { readonly id: string; readonly lastSeenAt: Date | null };

interface PersonRow extends Omit<ListedPerson, 'roles' | 'createdAt'> {
  readonly createdAt: Date;
  readonly roles: readonly (PersonRole & { readonly account: string })[] | null;
}

interface Listed extends Pick<ListedPerson, 'id' | 'lastSeenAt'> {
  readonly person: Person;
}

const listed = ({ person, ...rest }: Listed): ListedPerson => ({ ...person, ...rest });

const read = async (
  postgres: Queryable,
  condition: string,
  values: readonly unknown[],
  schema: LedgerSchema = 'ledger',
): Promise<readonly Listed[]> => {
  const fields = ['id', 'issuer', 'identity', 'name', 'email', 'createdAt', 'lastSeenAt'];
  const { rows } = await postgres.query<PersonRow>(
    `SELECT ${selected([...fields, 'sequence', 'lastEventAt'], 'p.')},
       (SELECT json_agg(json_build_object(
          'account', r.account, 'role', r.role, 'source', r.source, 'addedAt', r.added_at))
        FROM ${schema}.roles r WHERE r.person_id = p.id) AS roles
     FROM ${schema}.people p WHERE ${condition}`,
    [...values],
  );
  return rows.map(({ id, lastSeenAt, createdAt, roles, ...row }) => ({
    ...{ id, lastSeenAt },
    person: {
      ...row,
      createdAt: createdAt.toISOString(),
      roles: new Map(
        roles?.map(({ account, addedAt, ...role }) => [
          account,
          { ...role, addedAt: new Date(addedAt).toISOString() },
        ]),
      ),
    },
  }));
};

export const people: LedgerRows<Person, PersonEvent> = {
  /** Locks all people, because an account needs an owner: changes of roles are rare. */
  async lock(tx, ids, schema = 'ledger') {
    await tx.query('SELECT pg_advisory_xact_lock($1)', [advisoryLocks.people]);
    return readPeople(tx, ids, schema);
  },
  save: (states, schema = 'ledger') =>
    [...states].flatMap(([id, person]) => {
      const { roles, ...row } = person;
      return [
        upsert(`${schema}.people`, 'id', { id, ...row }),
        {
          text: `DELETE FROM ${schema}.roles WHERE person_id = $1 AND account <> ALL ($2::text[])`,
          values: [id, [...roles.keys()]],
        },
        ...Array.from(roles, ([account, role]) =>
          upsert(`${schema}.roles`, 'account, person_id', {
            ...{ personId: id, account, ...role, hash: roleHash(id, account) },
          }),
        ),
      ];
    }),
};

export const readPeople = async (
  postgres: Queryable,
  ids: readonly string[],
  schema?: LedgerSchema,
): Promise<ReadonlyMap<string, Person>> => {
  const found = await read(postgres, 'p.id = ANY ($1::text[])', [ids], schema);
  return new Map(found.map(({ id, person }) => [id, person]));
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

/** People with roles, by ID: those of an account, or all. */
export const listPeople = async (
  postgres: Queryable,
  account: string | null,
  limit: number,
  after: string,
): Promise<readonly ListedPerson[]> =>
  (
    await read(
      postgres,
      `p.id > $2 AND EXISTS (
       SELECT FROM ledger.roles r
       WHERE r.person_id = p.id AND ($3::text IS NULL OR r.account = $3))
     ORDER BY p.id LIMIT $1`,
      [limit, after, account],
    )
  ).map(listed);

export const findPerson = async (postgres: Queryable, id: string): Promise<ListedPerson | null> =>
  (await read(postgres, 'p.id = $1', [id])).map(listed)[0] ?? null;
