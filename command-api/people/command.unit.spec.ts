import { expect } from 'chai';
import fc from 'fast-check';
import type { PersonEvent } from '../../schemas/events/catalogue.js';
import { newEvent } from '../../schemas/events/codec.js';
import { installation, noPerson } from '../../schemas/folds/person.js';
import {
  isHigher,
  roleNames,
  type InstallationRole,
  type Role,
  type RoleSource,
} from '../../schemas/roles.js';
import {
  at,
  personAdded,
  personRemoved,
  somePerson,
  withoutAccount,
} from '../../schemas/testing/events.js';
import { metadataOfEvent, specify } from '../testing/decisions.js';
import { personDecider } from './command.js';

const subject = 'usr_6hQz1mV0bT8kXw2RfL4d';
const { given, accepts, ignores, refuses } = specify(subject, personDecider);

type Flat = Parameters<ReturnType<typeof given>['when']>[0];
type SignIn = Extract<Flat, { readonly type: 'SignIn' }>;

const { issuer, identity, name, email } = somePerson;
const profile = { issuer, identity, name, email };
const others = (...accounts: readonly string[]) => ({
  accountsWithOtherOwner: new Set(accounts),
});
const alone = others();

/** A sign-in without groups, invitation or sign-up. */
const signIn = (values: Partial<Omit<SignIn, 'type'>> = {}) => ({
  ...{ type: 'SignIn' as const, ...profile, ...alone, groupRoles: new Map() },
  ...{ invitation: null, signUp: null, ...values },
});
const byGroups = (
  roles: Readonly<Record<string, Role | InstallationRole>>,
  values: Partial<Omit<SignIn, 'type'>> = {},
) => signIn({ groupRoles: new Map(Object.entries(roles)), ...values });
const invited = (role: Role, account = 'acme') => signIn({ invitation: { account, role } });

const setRole = (role: Role, values: object = {}) => ({
  ...{ type: 'SetRole' as const, account: 'acme', role, canAdd: false, ...alone, ...values },
});
const remove = (accounts: readonly string[] = ['acme'], values: object = {}) => ({
  ...{ type: 'RemoveRoles' as const, accounts, ...alone, ...values },
});

/** The attributes of the event with a number among those of the command. */
const attributes = (sequence: number, account = 'acme', number = 1) => ({
  ...{ ...metadataOfEvent(number), sequence, subject },
  ...(account !== installation && { account }),
});
const added = (
  role: Role | InstallationRole,
  source: RoleSource,
  ...values: Parameters<typeof attributes>
) => newEvent('PersonAdded', { ...profile, role, source }, attributes(...values));
const changed = (
  data: Parameters<typeof newEvent<'PersonChanged'>>[1],
  ...values: Parameters<typeof attributes>
) => newEvent('PersonChanged', data, attributes(...values));
const removed = (...values: Parameters<typeof attributes>) =>
  newEvent('PersonRemoved', {}, attributes(...values));

/** The history of a person with a role in an account. */
const having = (role: Role, source: RoleSource = 'invitation', account = 'acme') => [
  personAdded(subject, { role, source }, { account, time: at(0) }),
];
const inBoth = [
  ...having('viewer', 'group'),
  personAdded(subject, { role: 'admin', source: 'invitation' }, { account: 'shop', sequence: 2 }),
];

describe('people: sign-in', () => {
  it('without a role, an invitation or a sign-up adds no person', () => {
    ignores([], signIn());
    ignores([], signIn({ groupRoles: null }));
  });

  it('gives the roles of the groups, in accounts and in the installation', () => {
    accepts(
      [],
      byGroups({ acme: 'editor', [installation]: 'auditor' }),
      added('editor', 'group', 1),
      added('auditor', 'group', 2, installation, 2),
    );
  });

  it('without a change is no event', () => {
    ignores(having('editor', 'group'), byGroups({ acme: 'editor' }));
    ignores(having('editor'), signIn());
  });

  it('sets the role of a group anew, higher or lower', () => {
    for (const [before, now] of [
      ['viewer', 'owner'],
      ['owner', 'viewer'],
    ] as const) {
      const event = changed({ role: now, source: 'group' }, 2);
      accepts(having(before, 'group'), byGroups({ acme: now }), event);
    }
  });

  it('replaces a role from another source by that of a group, also the same role', () => {
    for (const source of ['invitation', 'operator', 'signUp'] as const) {
      for (const role of ['viewer', 'admin'] as const) {
        const event = changed({ role, source: 'group' }, 2);
        accepts(having('admin', source), byGroups({ acme: role }), event);
      }
    }
  });

  it('never replaces the last owner that did not come from a group', () => {
    for (const source of ['invitation', 'operator', 'signUp'] as const) {
      ignores(having('owner', source), byGroups({ acme: 'viewer' }));
      const event = changed({ role: 'viewer', source: 'group' }, 2);
      accepts(having('owner', source), byGroups({ acme: 'viewer' }, others('acme')), event);
      // An owner of another account does not count.
      ignores(having('owner', source), byGroups({ acme: 'viewer' }, others('shop')));
    }
  });

  it('demotes and removes the last owner that came from a group', () => {
    const event = changed({ role: 'viewer', source: 'group' }, 2);
    accepts(having('owner', 'group'), byGroups({ acme: 'viewer' }), event);
    accepts(having('owner', 'group'), byGroups({}), removed(2));
  });

  it('removes roles of groups that the provider sent no longer, and no others', () => {
    accepts(inBoth, byGroups({}), removed(3));
    accepts(
      inBoth,
      byGroups({ shop: 'owner' }),
      ...[changed({ role: 'owner', source: 'group' }, 3, 'shop'), removed(4, 'acme', 2)],
    );
    const operator = personAdded(subject, { role: 'operator', source: 'group' }, { sequence: 2 });
    accepts(
      [...having('viewer'), withoutAccount(operator)],
      byGroups({}),
      removed(3, installation),
    );
  });

  it('keeps the roles of groups if the provider sent no claim with groups', () => {
    ignores(inBoth, signIn({ groupRoles: null }));
  });

  it('gives the role of an accepted invitation', () => {
    accepts([], invited('editor'), added('editor', 'invitation', 1));
    const inShop = added('viewer', 'invitation', 2, 'shop');
    accepts(having('owner'), invited('viewer', 'shop'), inShop);
  });

  it('never lowers a role by an invitation, for every pair of roles', () => {
    for (const before of roleNames) {
      for (const role of roleNames) {
        if (isHigher(role, before)) {
          accepts(having(before), invited(role), changed({ role, source: 'invitation' }, 2));
        } else ignores(having(before), invited(role));
      }
    }
  });

  it('keeps the role of a group against an invitation, from the same sign-in too', () => {
    const twoAccounts = byGroups(
      { acme: 'viewer' },
      { invitation: { account: 'acme', role: 'owner' } },
    );
    ignores(having('viewer', 'group'), twoAccounts);
    accepts([], twoAccounts, added('viewer', 'group', 1));
  });

  it('gives the role of an invitation where the role of a group ended', () => {
    const command = byGroups({}, { invitation: { account: 'acme', role: 'viewer' } });
    accepts(
      having('admin', 'group'),
      command,
      removed(2),
      added('viewer', 'invitation', 3, 'acme', 2),
    );
  });

  it('makes a person without an account the owner of a new one; another person keeps its accounts', () => {
    const signUp = 'personal-1';
    const own = added('owner', 'signUp', 1, signUp);
    accepts([], signIn({ signUp }), own);
    ignores(having('viewer'), signIn({ signUp }));
    accepts([], byGroups({ acme: 'viewer' }, { signUp }), added('viewer', 'group', 1));
    const last = added('owner', 'signUp', 3, signUp, 2);
    accepts(having('viewer', 'group'), byGroups({}, { signUp }), removed(2), last);
  });

  it('updates name and e-mail address in an event without an account', () => {
    for (const change of [{ name: 'Mary' }, { name: null }, { email: 'mary@example.com' }]) {
      const data = { name, email, ...change };
      accepts(having('viewer'), signIn(change), changed(data, 2, installation));
    }
    ignores([...having('viewer'), personRemoved(subject, 2)], signIn({ name: 'Mary' }));
  });

  it('adds a person that had lost every role, with the profile of this sign-in', () => {
    const history = [...having('viewer'), personRemoved(subject, 2)];
    const data = { ...profile, name: 'Mary', role: 'editor', source: 'invitation' } as const;
    accepts(
      history,
      { ...invited('editor'), name: 'Mary' },
      newEvent('PersonAdded', data, attributes(3)),
    );
  });
});

describe('people: change of a role', () => {
  it('is refused for an unknown person, for operators too', () => {
    for (const canAdd of [false, true]) refuses([], setRole('editor', { canAdd }), 'notFound');
  });

  it('keeps the source for owners, and has the source operator for operators', () => {
    accepts(
      having('viewer'),
      setRole('admin'),
      changed({ role: 'admin', source: 'invitation' }, 2),
    );
    const byOperator = changed({ role: 'admin', source: 'operator' }, 2);
    accepts(having('viewer'), setRole('admin', { canAdd: true }), byOperator);
  });

  it('is unchanged by the role that the person has', () => {
    for (const role of roleNames) ignores(having(role), setRole(role));
  });

  it('adds a person to an account only for operators', () => {
    const elsewhere = having('viewer', 'invitation', 'shop');
    refuses(elsewhere, setRole('admin'), 'notFound');
    accepts(elsewhere, setRole('admin', { canAdd: true }), added('admin', 'operator', 2));
  });

  it('refuses to change a role that came from a group, by operators neither', () => {
    for (const canAdd of [false, true]) {
      for (const role of roleNames) {
        refuses(having('admin', 'group'), setRole(role, { canAdd }), 'roleOfProvider');
      }
    }
  });

  it('refuses to demote the last owner, by operators neither', () => {
    for (const canAdd of [false, true]) {
      for (const role of ['viewer', 'editor', 'admin'] as const) {
        refuses(having('owner'), setRole(role, { canAdd }), 'lastOwner');
        refuses(having('owner'), setRole(role, { canAdd, ...others('shop') }), 'lastOwner');
      }
    }
    const event = changed({ role: 'viewer', source: 'invitation' }, 2);
    accepts(having('owner'), setRole('viewer', others('acme')), event);
    ignores(having('owner'), setRole('owner'));
  });
});

describe('people: removal', () => {
  it('is refused for an unknown person, and in an account without a role', () => {
    refuses([], remove(), 'notFound');
    refuses([], remove([]), 'notFound');
    refuses(having('viewer'), remove(['shop']), 'notFound');
    refuses(having('viewer'), remove(['acme', 'shop']), 'notFound');
    refuses([...having('viewer'), personRemoved(subject, 2)], remove(), 'notFound');
  });

  it('is an event for each account', () => {
    accepts(having('viewer'), remove(), removed(2));
    const history = [...having('viewer'), ...having('admin', 'operator', 'shop')];
    accepts(history, remove(['acme', 'shop']), removed(2), removed(3, 'shop', 2));
  });

  it('refuses the last owner, also as one of several accounts', () => {
    refuses(having('owner'), remove(), 'lastOwner');
    accepts(having('owner'), remove(['acme'], others('acme')), removed(2));
    const twoAccounts = [
      ...having('viewer', 'invitation', 'shop'),
      personAdded(subject, { role: 'owner' }, { sequence: 2 }),
    ];
    refuses(twoAccounts, remove(['shop', 'acme']), 'lastOwner');
    accepts(twoAccounts, remove(['shop']), removed(3, 'shop'));
  });

  it('refuses roles that came from a group, also as one of several accounts', () => {
    refuses(having('viewer', 'group'), remove(), 'roleOfProvider');
    refuses(inBoth, remove(['shop', 'acme']), 'roleOfProvider');
    accepts(inBoth, remove(['shop']), removed(3, 'shop'));
  });
});

describe('people: every history of commands', () => {
  const accounts = ['acme', 'shop'] as const;
  const anyRole = fc.constantFrom<Role>(...roleNames);
  const anyAccount = fc.constantFrom(...accounts);
  const anyRoles = fc
    .dictionary(anyAccount, anyRole)
    .map((roles) => new Map<string, Role | InstallationRole>(Object.entries(roles)));
  const anyOwners = fc.subarray([...accounts]).map((list) => new Set<string>(list));
  const anyCommand: fc.Arbitrary<Flat> = fc.oneof(
    fc.record({
      ...{ type: fc.constant('SignIn' as const), accountsWithOtherOwner: anyOwners },
      ...{ issuer: fc.constant(somePerson.issuer), identity: fc.constant(somePerson.identity) },
      ...{ name: fc.constantFrom('María', null), email: fc.constant(null) },
      groupRoles: fc.option(anyRoles),
      invitation: fc.option(fc.record({ account: anyAccount, role: anyRole })),
      signUp: fc.constantFrom(null, 'personal-1'),
    }),
    fc.record({
      ...{ type: fc.constant('SetRole' as const), accountsWithOtherOwner: anyOwners },
      ...{ account: anyAccount, role: anyRole, canAdd: fc.boolean() },
    }),
    fc.record({
      ...{ type: fc.constant('RemoveRoles' as const), accountsWithOtherOwner: anyOwners },
      accounts: fc.subarray([...accounts]),
    }),
  );

  /** Checks the events of a command. Returns the state after them. */
  const check = (command: Flat, events: readonly PersonEvent[], before: typeof noPerson) => {
    let after = before;
    for (const event of events) {
      expect(event.sequence).to.equal(after.sequence + 1);
      const next = personDecider.evolve(after, event);
      const { sequence, lastEventAt } = next;
      expect({ ...after, sequence, lastEventAt }, 'a change').to.not.deep.equal(next);
      after = next;
      const changedRole = before.roles.get(event.account ?? installation);
      if (command.type !== 'SignIn') expect(changedRole?.source).to.not.equal('group');
    }
    expect(new Set(events.map(({ id }) => id)).size).to.equal(events.length);
    for (const [account, { role, source }] of before.roles) {
      if (role !== 'owner' || source === 'group') continue;
      if (command.accountsWithOtherOwner.has(account)) continue;
      expect(after.roles.get(account)?.role, 'the last owner').to.equal('owner');
    }
    const groupRoles = command.type === 'SignIn' ? command.groupRoles : null;
    for (const [account, { role, source }] of after.roles) {
      if (groupRoles && source === 'group') expect(groupRoles.get(account)).to.equal(role);
    }
    return after;
  };

  it('keeps the last owner, follows the groups, and has consecutive changes', () => {
    fc.assert(
      fc.property(fc.array(anyCommand, { maxLength: 12 }), (commands) => {
        const history: PersonEvent[] = [];
        let state = noPerson;
        for (const command of commands) {
          const { decision } = given(...history).when(command);
          const events = decision.type === 'accepted' ? decision.events : [];
          state = check(command, events, state);
          history.push(...events);
        }
      }),
      { numRuns: 400 },
    );
  });
});
