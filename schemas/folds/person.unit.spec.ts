import { foldSpecification } from '../testing/decider-specification.js';
import {
  at,
  noon,
  personAdded,
  personChanged,
  personRemoved,
  shareEnded,
  somePerson,
  withoutAccount,
} from '../testing/events.js';
import { evolvePerson, installation, noPerson, type Person } from './person.js';

const given = foldSpecification({ initialState: noPerson, evolve: evolvePerson });

const id = 'usr_6hQz1mV0bT8kXw2RfL4d';
const { role, source, ...profile } = somePerson;
const addedAt = noon.toISOString();

const maria: Person = {
  ...profile,
  roles: new Map([['acme', { role, source, addedAt }]]),
  createdAt: addedAt,
  sequence: 1,
  lastEventAt: noon,
};
const added = personAdded(id);
const inShop = personAdded(
  id,
  { role: 'viewer', source: 'group' },
  { account: 'shop', sequence: 2, time: at(1) },
);
const later = at(1).toISOString();

describe('schemas: state of a person', () => {
  it('does not exist at first', () => {
    given().then(noPerson);
  });

  it('has the profile and the role of its first event', () => {
    given(added).then(maria);
  });

  it('has a role in each account, and the time of its first event as createdAt', () => {
    given(added)
      .when(inShop)
      .thenChanges({
        roles: new Map([
          ...maria.roles,
          ['shop', { role: 'viewer', source: 'group', addedAt: later }],
        ]),
      });
  });

  it('has a role in the installation by an event without an account', () => {
    const data = { role: 'auditor' as const, source: 'group' as const };
    const event = withoutAccount(personAdded(id, data, { sequence: 2, time: at(1) }));
    given(added)
      .when(event)
      .thenChanges({
        roles: new Map([...maria.roles, [installation, { ...data, addedAt: later }]]),
      });
  });

  it('keeps the time of a role that changes, and the roles in other accounts', () => {
    given(added, inShop)
      .when(personChanged(id, 3, { role: 'owner', source: 'operator' }, { time: at(2) }))
      .thenChanges({
        roles: new Map([
          ['acme', { role: 'owner', source: 'operator', addedAt }],
          ['shop', { role: 'viewer', source: 'group', addedAt: later }],
        ]),
      });
  });

  it('has the name and the address of the last change', () => {
    const renamed = withoutAccount(personChanged(id, 2, { name: 'Mary', email: null }));
    given(added).when(renamed).thenChanges({ name: 'Mary', email: null });
  });

  it('loses the role of one account, and remains known without any', () => {
    given(added, inShop)
      .when(personRemoved(id, 3))
      .thenChanges({
        roles: new Map([['shop', { role: 'viewer', source: 'group', addedAt: later }]]),
      });
    given(added).when(personRemoved(id, 2)).thenChanges({ roles: new Map() });
  });

  it('keeps createdAt when it gets a role again, with the new profile', () => {
    const again = personAdded(id, { name: 'Mary' }, { sequence: 3, time: at(2) });
    given(added, personRemoved(id, 2))
      .when(again)
      .thenChanges({
        name: 'Mary',
        roles: new Map([['acme', { role, source, addedAt: at(2).toISOString() }]]),
      });
  });

  it('ignores a changed role in an account without one', () => {
    given(added, personRemoved(id, 2))
      .when(personChanged(id, 3, { role: 'owner' }))
      .thenChanges({ roles: new Map() });
  });

  it('does not change a state that was read before', () => {
    const before = evolvePerson(noPerson, added);
    evolvePerson(before, personRemoved(id, 2));
    given(added).then(before);
  });

  it('rejects events of other subjects', () => {
    given(added)
      .when(shareEnded('s', 2) as never)
      .thenThrows(/person/);
  });
});
