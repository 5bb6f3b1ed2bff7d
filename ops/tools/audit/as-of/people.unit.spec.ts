import { expect } from 'chai';
import fc from 'fast-check';
import type { LinklogEvent, PersonEvent } from '../../../../schemas/events/catalogue.js';
import { topicOf } from '../../../../schemas/events/codec.js';
import { topics } from '../../../../schemas/events/topics.js';
import { roleNames, type Role } from '../../../../schemas/roles.js';
import {
  at,
  keyCreated,
  personAdded,
  personChanged,
  personRemoved,
  recordOf,
  withoutAccount,
} from '../../../../schemas/testing/events.js';
import { peopleAsOf } from './people.js';
import { memoryLog } from './testing/memory-log.js';

const maria = 'usr_6hQz1mV0bT8kXw2RfL4d';
const ben = 'usr_00000000000000000ben';

const logOf = (events: readonly LinklogEvent[]) => {
  const { log, append } = memoryLog();
  for (const event of events) append(topicOf(event), recordOf(event));
  return { log, append };
};

describe('audit as-of: people', () => {
  it('lists who had which role in the account, with the name of that moment', async () => {
    const profile = { name: 'Mary', email: null };
    const renamed = withoutAccount(personChanged(maria, 4, profile, { time: at(30) }));
    const { log, append } = logOf([
      keyCreated('key-1', {}, { time: at(0) }),
      personAdded(maria, { role: 'viewer' }, { time: at(10) }),
      personAdded(maria, { role: 'owner' }, { time: at(10), account: 'shop', sequence: 2 }),
      personAdded(ben, { role: 'owner', source: 'group', name: null }, { time: at(15) }),
      personChanged(maria, 3, { role: 'admin', source: 'operator' }, { time: at(20) }),
      renamed,
      personRemoved(maria, 5, { time: at(40) }),
      // A repeat.
      personAdded(maria, { role: 'viewer' }, { time: at(10) }),
    ]);
    const auditor = { role: 'auditor', source: 'group', name: null } as const;
    const installed = withoutAccount(personAdded(ben, auditor, { time: at(16), sequence: 2 }));
    append(topics.accounts.name, recordOf(installed));
    append(topics.accounts.name, { key: ben, value: 'no event' });

    const asOf = (seconds: number) => peopleAsOf({ log, moment: at(seconds) }, 'acme');
    const rowOfMaria = (name: string, role: Role, source = 'invitation') => ({
      ...{ id: maria, name, role, source, addedAt: at(10).toISOString() },
    });
    const rowOfBen = {
      ...{ id: ben, name: null, role: 'owner', source: 'group', addedAt: at(15).toISOString() },
    };
    for (const [seconds, people] of [
      [9.999, []],
      [10, [rowOfMaria('María', 'viewer')]],
      [19, [rowOfBen, rowOfMaria('María', 'viewer')]],
      [20, [rowOfBen, rowOfMaria('María', 'admin', 'operator')]],
      [39, [rowOfBen, rowOfMaria('Mary', 'admin', 'operator')]],
      [40, [rowOfBen]],
    ] as const) {
      const snapshot = await asOf(seconds);
      expect(snapshot.people, `at ${seconds}`).to.deep.equal(people);
    }
    expect(await asOf(40)).to.deep.include({
      ...{ asOf: at(40).toISOString(), account: 'acme', unreadable: 1 },
    });
    expect((await peopleAsOf({ log, moment: at(40) }, 'shop')).people).to.have.length(1);
    expect((await peopleAsOf({ log, moment: at(40) }, 'none')).people).to.deep.equal([]);
  });

  const accounts = ['acme', 'shop'] as const;
  const steps = fc.array(
    fc.record({
      person: fc.nat({ max: 4 }),
      account: fc.constantFrom(...accounts),
      /** `null`: the role is removed. */
      role: fc.option(fc.constantFrom<Role>(...roleNames)),
      /** Milliseconds since the step before. */
      pause: fc.nat({ max: 3 }),
    }),
    { maxLength: 60 },
  );
  const moments = fc.array(fc.nat({ max: 200 }), { minLength: 100, maxLength: 100 });

  it('equals a naive fold at 100 random moments of every history', async () => {
    const idOf = (person: number): string => `usr_${String(person).padStart(20, '0')}`;
    const holds = async ([history, times]: readonly [
      readonly { person: number; account: string; role: Role | null; pause: number }[],
      readonly number[],
    ]): Promise<void> => {
      let now = 0;
      const sequences = new Map<string, number>();
      /** The roles by account and person, before each step. */
      const current = new Set<string>();
      const events: PersonEvent[] = [];
      const changes: { time: number; account: string; id: string; role: Role | null }[] = [];
      for (const { person, account, role, pause } of history) {
        now += pause;
        const id = idOf(person);
        const key = `${account} ${id}`;
        if (role === null && !current.has(key)) continue;
        const sequence = (sequences.get(id) ?? 0) + 1;
        sequences.set(id, sequence);
        const attributes = { account, time: at(now / 1_000), sequence };
        if (role === null) events.push(personRemoved(id, sequence, attributes));
        else if (current.has(key)) events.push(personChanged(id, sequence, { role }, attributes));
        else events.push(personAdded(id, { role }, attributes));
        if (role === null) current.delete(key);
        else current.add(key);
        changes.push({ time: now, account, id, role });
      }
      const { log } = logOf(events);
      for (const moment of times) {
        for (const account of accounts) {
          const expected = new Map<string, Role>();
          for (const change of changes) {
            if (change.time > moment || change.account !== account) continue;
            if (change.role === null) expected.delete(change.id);
            else expected.set(change.id, change.role);
          }
          const { people } = await peopleAsOf({ log, moment: at(moment / 1_000) }, account);
          const roles = people.map(({ id, role }) => [id, role]);
          expect(roles, `${account} at ${moment}`).to.deep.equal([...expected].sort());
        }
      }
    };
    await fc.assert(fc.asyncProperty(fc.tuple(steps, moments), holds), { numRuns: 10 });
  });
});
