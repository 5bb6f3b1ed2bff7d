import type { PersonEvent } from '../events/catalogue.js';
import { unknownEvent } from '../events/event-type.js';
import type { AnyRole, RoleSource } from '../roles.js';

export interface PersonRole {
  readonly role: AnyRole;
  readonly source: RoleSource;
  readonly addedAt: string;
}

/** The key of the role in the installation among the roles of a person: accounts have names. */
export const installation = '';

/** A person of an identity provider. */
export interface Person {
  readonly issuer: string;
  /** The `sub` of the person; never its e-mail address. Issuer and identity are unique. */
  readonly identity: string;
  readonly name: string | null;
  readonly email: string | null;
  /** By account. */
  readonly roles: ReadonlyMap<string, PersonRole>;
  readonly createdAt: string;
  readonly sequence: number;
  readonly lastEventAt: Date;
}

export const noPerson: Person = {
  ...{ issuer: '', identity: '', name: null, email: null, roles: new Map(), createdAt: '' },
  ...{ sequence: 0, lastEventAt: new Date(0) },
};

export const evolvePerson = (person: Person, event: PersonEvent): Person => {
  const { account = installation, time, sequence } = event;
  const roles = new Map(person.roles);
  const next = { ...person, sequence, lastEventAt: new Date(time), roles };
  switch (event.type) {
    case 'linklog.PersonAdded.v1': {
      const { role, source, ...profile } = event.data;
      roles.set(account, { role, source, addedAt: time });
      return { ...next, ...profile, createdAt: person.createdAt || time };
    }
    case 'linklog.PersonChanged.v1': {
      const { role, source, ...profile } = event.data;
      const current = roles.get(account);
      if (current)
        roles.set(account, { ...current, ...(role && { role }), ...(source && { source }) });
      return { ...next, ...profile };
    }
    case 'linklog.PersonRemoved.v1':
      roles.delete(account);
      return next;
    default:
      return unknownEvent(event, 'person');
  }
};
