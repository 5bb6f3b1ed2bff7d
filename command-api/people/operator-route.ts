import { findPerson, listPeople } from '../../ops/ledger/people.js';
import { accountName } from '../../schemas/http/keys.js';
import { messages } from '../../schemas/http/errors.js';
import { isPersonId } from '../../schemas/roles.js';
import type { AdminHandlers } from '../http/operator-requests.js';
import { failure, json, pageOf, type Reply } from '../http/reply.js';
import { parseAs } from '../http/requests.js';
import type { PersonOutcome } from './handler.js';
import { personRefusals } from './route.js';
import { operatorsPersonOf } from './view.js';

/** `/admin/people`: people of all accounts. */
export const peopleHandlers = (({ pool, people, respond }) => {
  const change = async (id: string, decide: () => Promise<PersonOutcome>): Promise<Reply> => {
    if (!isPersonId(id)) return failure(404, messages.personNotFound);
    const outcome = await decide();
    if (outcome.type === 'refused') return personRefusals[outcome.refusal.type];
    const person = await findPerson(pool, id);
    if (!person) throw new Error(`the changed person ${id} does not exist`);
    return respond(outcome.outboxPosition, 200, operatorsPersonOf(person));
  };

  return {
    async listPeople({ query: { limit, after = '' } }) {
      const found = await listPeople(pool, null, limit + 1, after);
      const { page, next } = pageOf(found, limit, ({ id }) => id);
      return json(200, { people: page.map(operatorsPersonOf), next });
    },
    setPersonsRole({ parameter, body, state }) {
      const account = parseAs(accountName, parameter('account'));
      if (account.type === 'refused') return account.reply;
      const id = parameter('id');
      const { actor } = state;
      return change(id, () => people.setRole(id, account.value, body.role, actor, true));
    },
    removePersonsRole: ({ parameter, state }) =>
      change(parameter('id'), () =>
        people.remove(parameter('id'), [parameter('account')], state.actor),
      ),
    removePersonEverywhere: ({ parameter, state }) =>
      change(parameter('id'), () => people.remove(parameter('id'), null, state.actor)),
  };
}) satisfies AdminHandlers;
