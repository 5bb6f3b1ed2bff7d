import { expect } from 'chai';
import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { topicOf } from '../../../../schemas/events/codec.js';
import { topics } from '../../../../schemas/events/topics.js';
import { type Role } from '../../../../schemas/roles.js';
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
});
