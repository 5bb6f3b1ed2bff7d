import { expect } from 'chai';
import fc from 'fast-check';
import type { PersonEvent } from '../../schemas/events/catalogue.js';
import { installation, noPerson } from '../../schemas/folds/person.js';
import { roleNames, type InstallationRole, type Role } from '../../schemas/roles.js';
import { commandSpecification } from '../../schemas/testing/decider-specification.js';
import { somePerson } from '../../schemas/testing/events.js';
import { personDecider } from './command.js';

const given = commandSpecification('usr_6hQz1mV0bT8kXw2RfL4d', personDecider);

type Flat = Parameters<ReturnType<typeof given>['when']>[0];

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

  /** Decides commands one after another. Calls `check` with each change. */
  const run = (
    commands: readonly Flat[],
    check: (command: Flat, events: readonly PersonEvent[], before: typeof noPerson) => void,
  ): void => {
    const history: PersonEvent[] = [];
    for (const command of commands) {
      const { decision } = given(...history).when(command);
      const events = decision.type === 'accepted' ? decision.events : [];
      check(command, events, history.reduce(personDecider.evolve, noPerson));
      history.push(...events);
    }
  };

  const property = (check: Parameters<typeof run>[1]): void => {
    fc.assert(
      fc.property(fc.array(anyCommand, { maxLength: 12 }), (commands) => {
        run(commands, check);
      }),
    );
  };

  it('never takes the role of a last owner that did not come from a group', () => {
    property((command, events, before) => {
      const after = events.reduce(personDecider.evolve, before);
      for (const [account, { role, source }] of before.roles) {
        if (role !== 'owner' || source === 'group') continue;
        if (command.accountsWithOtherOwner.has(account)) continue;
        expect(after.roles.get(account)?.role).to.equal('owner');
      }
    });
  });

  it('never changes a role of a group except at a sign-in', () => {
    property(({ type }, events, before) => {
      if (type === 'SignIn') return;
      for (const { account = installation } of events) {
        expect(before.roles.get(account)?.source).to.not.equal('group');
      }
    });
  });

  it('has the roles of the groups after a sign-in that sent them', () => {
    property((command, events, before) => {
      if (command.type !== 'SignIn' || command.groupRoles === null) return;
      const after = events.reduce(personDecider.evolve, before);
      for (const [account, { role, source }] of after.roles) {
        if (source === 'group') expect(command.groupRoles.get(account)).to.equal(role);
      }
    });
  });

  it('has consecutive sequences, distinct ids, and no event that changes nothing', () => {
    property((_command, events, before) => {
      let state = before;
      for (const event of events) {
        expect(event.sequence).to.equal(state.sequence + 1);
        const next = personDecider.evolve(state, event);
        const { sequence, lastEventAt } = next;
        expect({ ...state, sequence, lastEventAt }).to.not.deep.equal(next);
        state = next;
      }
      expect(new Set(events.map(({ id }) => id)).size).to.equal(events.length);
    });
  });
});
