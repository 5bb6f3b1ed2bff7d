import { isPersonEvent } from '../../../../schemas/events/catalogue.js';
import { topics } from '../../../../schemas/events/topics.js';
import type { Person } from '../../../../schemas/folds/person.js';
import { foldPeople } from '../../../ledger/rebuild/folds.js';
import { addTo } from './key.js';
import { happenedBy, partsOf, readParts, type AsOfQuery } from './read.js';

/** Returns who had which role in an account at a moment, by ID. Names are those of that moment. */
export const peopleAsOf = async (query: AsOfQuery, account: string) => {
  const { log, moment } = query;
  const happened = happenedBy(moment);
  const known = new Map<string, Person>();
  const parts = await partsOf(log, topics.accounts.name);
  const summary = await readParts(query, parts, (events) => {
    addTo(known, foldPeople, events.filter(isPersonEvent).filter(happened));
  });
  const people = [...known].flatMap(([id, { name, roles }]) => {
    const { role, source, addedAt } = roles.get(account) ?? {};
    return role && source && addedAt ? [{ id, name, role, source, addedAt }] : [];
  });
  people.sort((a, b) => (a.id < b.id ? -1 : 1));
  return { asOf: moment.toISOString(), account, people, ...summary };
};

export type PeopleSnapshot = Awaited<ReturnType<typeof peopleAsOf>>;
