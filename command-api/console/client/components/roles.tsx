import type { ComponentChildren } from 'preact';
import type { PersonResponse } from '../../../../schemas/http/people.js';
import type { Role } from '../../../../schemas/roles.js';
import { formatTime } from '../../format.js';
import { texts } from '../../texts.js';
import { Select } from './field.js';

const text = texts.people;

/** Those of schemas/roles.ts, which would add zod to the client. */
const roles = Object.keys(text.roles) as readonly Role[];

/** What a role permits, in sentences: each role permits what those before it do. */
export const permissionsOf = (role: Role): string =>
  roles
    .slice(0, roles.indexOf(role) + 1)
    .map((name) => text.permissions[name])
    .join(' ');

export const RoleSelect = ({ role = 'viewer' }: { readonly role?: Role }) => (
  <Select
    label={text.role}
    name="role"
    value={role}
    options={roles.map((name) => [name, text.roles[name]])}
  />
);

/** The roles in an account, with what each of them permits. */
export const RoleList = () => (
  <section class="card" aria-labelledby="roles">
    <h2 id="roles">{text.rolesTitle}</h2>
    <dl class="data">
      {roles.map((name) => (
        <div key={name}>
          <dt>{text.roles[name]}</dt>
          <dd>{text.permissions[name]}</dd>
        </div>
      ))}
    </dl>
  </section>
);

export interface PageOf<Person> {
  readonly people: readonly Person[];
  readonly next: string | null;
}

type Person = Pick<PersonResponse, 'id' | 'name' | 'email' | 'lastSeenAt'>;

export const nameOfPerson = ({ id, name, email }: Person): string => name ?? email ?? id;

export const seenAt = ({ lastSeenAt }: Person): string =>
  lastSeenAt === null ? text.notSeen : text.lastSeen(formatTime(lastSeenAt));

interface NameProps {
  readonly person: Person;
  readonly children: ComponentChildren;
}

/** The name and the address of a person, before its badges. */
export const PersonName = ({ person, children }: NameProps) => (
  <p>
    <strong>
      <bdi>{nameOfPerson(person)}</bdi>
    </strong>{' '}
    {person.name !== null && <bdi class="soft">{person.email}</bdi>} {children}
  </p>
);
