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

  it('are read from every path at which they were put', () => {
    const names = fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(names, fc.array(fc.string()), (path, groups) => {
        const claims = path.reduceRight<unknown>(
          (value, name) => Object.fromEntries([[name, value]]),
          groups,
        );
        expect(groupsIn(claims as object, path)).to.deep.equal(groups);
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

  it('are the highest of each account, for every list of groups and every mapping', () => {
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

  it('do not depend on the order or on repetitions of groups and rows', () => {
    fc.assert(
      fc.property(anyGroups, anyMapping, (groups, mapping) => {
        const repeated = rolesOfGroups([...groups, ...groups].reverse(), [...mapping].reverse());
        const roles = rolesOfGroups(groups, mapping);
        expect(Object.fromEntries(repeated)).to.deep.equal(Object.fromEntries(roles));
      }),
    );
  });

  it('are never lowered by an additional group', () => {
    fc.assert(
      fc.property(anyGroups, fc.string(), anyMapping, (groups, additional, mapping) => {
        const before = rolesOfGroups(groups, mapping);
        const after = rolesOfGroups([...groups, additional], mapping);
        for (const [account, role] of before) {
          const now = after.get(account);
          expect(now && order.indexOf(now)).to.be.at.least(order.indexOf(role));
        }
      }),
    );
  });

  it('match groups exactly', () => {
    const mapping: readonly GroupRole[] = [{ group: 'Owners', account: 'acme', role: 'owner' }];
    for (const group of ['owners', ' Owners', 'Owners ', 'Owner', '/Owners']) {
      expect(rolesOfGroups([group], mapping).size, group).to.equal(0);
    }
    expect([...rolesOfGroups(['Owners'], mapping)]).to.deep.equal([['acme', 'owner']]);
  });
});
