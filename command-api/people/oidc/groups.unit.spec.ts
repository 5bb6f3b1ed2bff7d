import fc from 'fast-check';
import { expect } from 'chai';
import { roleNames, type InstallationRole, type Role } from '../../../schemas/roles.js';
import { groupsIn, rolesOfGroups, type GroupRole } from './groups.js';

describe('people: groups in claims', () => {
  it('are read at a path of nested claims', () => {
    expect(groupsIn({ groups: ['a', 'b'] }, ['groups'])).to.deep.equal(['a', 'b']);
    const claims = { realm_access: { roles: ['owners'] } };
    expect(groupsIn(claims, ['realm_access', 'roles'])).to.deep.equal(['owners']);
  });

  it('are a list of one if the claim is a text, and may be an empty list', () => {
    expect(groupsIn({ groups: 'staff' }, ['groups'])).to.deep.equal(['staff']);
    expect(groupsIn({ groups: [] }, ['groups'])).to.deep.equal([]);
  });

  it('are unknown if the claim is missing or has another type', () => {
    for (const claims of [{}, { groups: null }, { groups: 7 }, { groups: { a: 1 } }, []]) {
      expect(groupsIn(claims, ['groups']), JSON.stringify(claims)).to.equal(null);
    }
    expect(groupsIn({ a: 'text' }, ['a', 'length'])).to.equal(null);
    for (const inherited of ['toString', '__proto__', 'constructor']) {
      expect(groupsIn({}, [inherited]), inherited).to.equal(null);
    }
  });

  it('are those values of a list that are texts', () => {
    expect(groupsIn({ groups: ['a', 1, null, ['b'], 'c'] }, ['groups'])).to.deep.equal(['a', 'c']);
  });

  it('are texts or unknown, whatever the provider sends', () => {
    const path = fc.array(fc.oneof(fc.constantFrom('groups', '__proto__', 'length'), fc.string()), {
      ...{ minLength: 1, maxLength: 4 },
    });
    fc.assert(
      fc.property(fc.object({ maxDepth: 4 }), path, (claims, names) => {
        const groups = groupsIn(claims, names);
        if (groups !== null) for (const group of groups) expect(group).to.be.a('string');
      }),
    );
  });
});

describe('people: roles of groups', () => {
  const groupNames = ['a', 'b', 'c', 'A', 'a b'];
  const anyGroup = fc.constantFrom(...groupNames);
  const accountRole = fc.record({
    group: anyGroup,
    account: fc.constantFrom('acme', 'shop'),
    role: fc.constantFrom<Role>(...roleNames),
  });
  const installationRole = fc.record({
    group: anyGroup,
    account: fc.constant(''),
    role: fc.constantFrom<InstallationRole>('auditor', 'operator'),
  });
  const anyMapping = fc.array<GroupRole>(fc.oneof(accountRole, installationRole), {
    maxLength: 12,
  });
  const anyGroups = fc.array(fc.oneof(anyGroup, fc.string()), { maxLength: 6 });
  const order = [...roleNames, 'auditor', 'operator'] as const;

  it('are the highest of each account, for exactly these groups, in any order', () => {
    fc.assert(
      fc.property(anyGroups, anyMapping, (groups, mapping) => {
        const expected = new Map<string, GroupRole['role']>();
        for (const role of order) {
          for (const row of mapping) {
            if (row.role === role && groups.includes(row.group)) expected.set(row.account, role);
          }
        }
        const roles = rolesOfGroups(groups, mapping);
        expect(Object.fromEntries(roles)).to.deep.equal(Object.fromEntries(expected));
      }),
    );
  });
});
