import {
  accepted,
  nextEvent,
  refused,
  unchanged,
  type Command,
  type Decider,
} from '../../schemas/decision.js';
import type { PersonEvent } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import { evolvePerson, installation, noPerson, type Person } from '../../schemas/folds/person.js';
import { isHigher, type AnyRole, type Role, type RoleSource } from '../../schemas/roles.js';

/** The claims of a person. */
export interface Profile {
  readonly issuer: string;
  readonly identity: string;
  readonly name: string | null;
  /** Only if the provider has verified it. */
  readonly email: string | null;
}

interface Owners {
  /** The accounts that have an owner other than the person. */
  readonly accountsWithOtherOwner: ReadonlySet<string>;
}

/** The subject is the person's ID. */
export type PersonCommand =
  | Command<
      'SignIn',
      Profile &
        Owners & {
          /** The roles by account of the groups that the provider sent; `null`: it sent none of them. */
          readonly groupRoles: ReadonlyMap<string, AnyRole> | null;
          readonly invitation: { readonly account: string; readonly role: Role } | null;
          /** The account that a person without a role in any account gets; `null`: none. */
          readonly signUp: string | null;
        }
    >
  /** `canAdd`: also without a role in the account. */
  | Command<
      'SetRole',
      Owners & { readonly account: string; readonly role: Role; readonly canAdd: boolean }
    >
  /** `null`: all accounts. */
  | Command<'RemoveRoles', Owners & { readonly accounts: readonly string[] | null }>;

export interface PersonRefusal {
  readonly type: 'notFound' | 'lastOwner' | 'roleOfProvider';
}

const ownsAlone = ({ roles }: Person, account: string, { accountsWithOtherOwner }: Owners) => {
  const { role, source } = roles.get(account) ?? {};
  return role === 'owner' && source !== 'group' && !accountsWithOtherOwner.has(account);
};

/** Decides the roles and the profile of a person. */
export const personDecider: Decider<PersonCommand, PersonEvent, Person, PersonRefusal> = {
  initialState: noPerson,
  evolve: evolvePerson,
  decide({ type, subject, data, metadata }, before) {
    let person = before;
    const events: PersonEvent[] = [];
    const add = (
      eventOf: (attributes: ReturnType<typeof attributesOf>) => PersonEvent,
      account: string,
    ) => {
      const event = eventOf(attributesOf(account));
      events.push(event);
      person = evolvePerson(person, event);
    };
    const attributesOf = (account: string) => ({
      ...nextEvent(person, metadata, events.length),
      subject,
      ...(account !== installation && { account }),
    });
    const give = (account: string, role: AnyRole, source: RoleSource, profile: Profile) => {
      const current = person.roles.get(account);
      if (current?.role === role && current.source === source) return;
      const { issuer, identity, name, email } = profile;
      const added = { issuer, identity, name, email, role, source };
      add(
        (attributes) =>
          current
            ? newEvent('PersonChanged', { role, source }, attributes)
            : newEvent('PersonAdded', added, attributes),
        account,
      );
    };
    const remove = (account: string) => {
      add((attributes) => newEvent('PersonRemoved', {}, attributes), account);
    };
    switch (type) {
      case 'SignIn': {
        const { groupRoles, invitation, signUp, name, email } = data;
        for (const [account, role] of groupRoles ?? []) {
          if (!ownsAlone(person, account, data)) give(account, role, 'group', data);
        }
        for (const [account, { source }] of groupRoles ? before.roles : []) {
          if (source === 'group' && !groupRoles?.has(account)) remove(account);
        }
        if (invitation) {
          const { role, source } = person.roles.get(invitation.account) ?? {};
          const isRaised =
            role === undefined || (source !== 'group' && isHigher(invitation.role, role));
          if (isRaised) give(invitation.account, invitation.role, 'invitation', data);
        }
        const hasAccount = [...person.roles.keys()].some((account) => account !== installation);
        if (signUp !== null && !hasAccount) give(signUp, 'owner', 'signUp', data);
        if (person.roles.size > 0 && (person.name !== name || person.email !== email)) {
          add((attributes) => newEvent('PersonChanged', { name, email }, attributes), installation);
        }
        break;
      }
      case 'SetRole': {
        const { account, role, canAdd } = data;
        const current = person.roles.get(account);
        if (person.sequence === 0 || (!current && !canAdd)) return refused({ type: 'notFound' });
        if (current?.source === 'group') return refused({ type: 'roleOfProvider' });
        if (role !== 'owner' && ownsAlone(person, account, data)) {
          return refused({ type: 'lastOwner' });
        }
        if (current?.role !== role)
          give(account, role, canAdd ? 'operator' : (current?.source ?? 'operator'), person);
        break;
      }
      case 'RemoveRoles': {
        const accounts = data.accounts ?? [...person.roles.keys()];
        const removed = accounts.flatMap((account) => person.roles.get(account) ?? []);
        if (removed.length === 0 || removed.length < accounts.length) {
          return refused({ type: 'notFound' });
        }
        if (removed.some(({ source }) => source === 'group')) {
          return refused({ type: 'roleOfProvider' });
        }
        if (accounts.some((account) => ownsAlone(person, account, data))) {
          return refused({ type: 'lastOwner' });
        }
        accounts.forEach(remove);
        break;
      }
      default: {
        const unknown: never = type;
        return unknown;
      }
    }
    return events.length > 0 ? accepted(...events) : unchanged;
  },
};
