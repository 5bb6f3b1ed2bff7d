import type { Context } from 'koa';
import type { OutboxDelivery } from '../../ops/event-log/outbox/port.js';
import { readInvitations } from '../../ops/ledger/invitations.js';
import { findPerson, listPeople } from '../../ops/ledger/people.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { messages } from '../../schemas/http/errors.js';
import type { MeResponse } from '../../schemas/http/people.js';
import { isPersonId, scopesOfRole, type Role } from '../../schemas/roles.js';
import { scopeLacking, type V2State } from '../admission/admitted-call.js';
import { failure, json, noContent, pageOf, whenPublished, type Reply } from '../http/reply.js';
import { actorOf, type V2Handlers } from '../http/row-handlers.js';
import type { PersonRefusal } from './command.js';
import type { People, PersonOutcome } from './handler.js';
import { maxInvitations, type InvitationRefusal } from './invitation-command.js';
import { accountRolesOf, invitationOf, personOf } from './view.js';

export interface PeopleDeps {
  readonly pool: Pool;
  readonly people: People;
  readonly delivery: OutboxDelivery;
  /** The page of the console, for a client of a request. */
  readonly consoleUrl: (ctx: Context) => string;
}

const unknownPerson = failure(404, messages.personNotFound);
const unknownInvitation = failure(404, messages.invitationNotFound);

export const personRefusals: Readonly<Record<PersonRefusal['type'], Reply>> = {
  notFound: unknownPerson,
  lastOwner: failure(409, messages.lastOwner),
  roleOfProvider: failure(409, messages.roleOfProvider),
};

const invitationRefusals: Readonly<Record<InvitationRefusal['type'], Reply>> = {
  notFound: unknownInvitation,
  tooManyInvitations: failure(400, `At most ${maxInvitations} pending invitations an account`),
};

/** 403 for a role with a scope that the caller lacks. */
const grantRefusal = (role: Role, { call: { key } }: V2State): Reply | null => {
  const lacking = scopesOfRole(role).find((scope) => !key.scopes.includes(scope));
  return lacking ? scopeLacking(lacking, key) : null;
};

/** /v2/people and /v2/me */
export const createPeopleHandlers = ({ pool, people, delivery, consoleUrl }: PeopleDeps) => {
  const respond = (
    outcome: PersonOutcome,
    reply: (done: Extract<PersonOutcome, { type: 'done' }>) => Promise<Reply> | Reply,
  ): Promise<Reply> | Reply =>
    outcome.type === 'refused'
      ? personRefusals[outcome.refusal.type]
      : whenPublished(delivery, outcome.outboxPosition, () => reply(outcome));

  const shown = async (id: string, account: string): Promise<Reply> => {
    const person = await findPerson(pool, id);
    const body = person && personOf(person, account);
    return body ? json(200, body) : unknownPerson;
  };

  return {
    async getPeople({ query: { limit, after = '' }, state }) {
      const { account } = state.call.key;
      const found = await listPeople(pool, account, limit + 1, after);
      const { page, next } = pageOf(found, limit, ({ id }) => id);
      return json(200, { people: page.flatMap((person) => personOf(person, account) ?? []), next });
    },

    async changePerson({ body: { role }, state, parameter }) {
      const refusal = grantRefusal(role, state);
      if (refusal) return refusal;
      const id = parameter('id');
      if (!isPersonId(id)) return unknownPerson;
      const { account } = state.call.key;
      const outcome = await people.setRole(id, account, role, actorOf(state));
      return respond(outcome, () => shown(id, account));
    },

    async removePerson({ query: { revokeKeys }, state, parameter }) {
      const id = parameter('id');
      if (!isPersonId(id)) return unknownPerson;
      const { account } = state.call.key;
      const revokes = revokeKeys === '1';
      const outcome = await people.remove(id, [account], actorOf(state), revokes);
      return respond(outcome, ({ keys }) => json(200, { keys }));
    },

    async invitePerson({ body, ctx, state }) {
      const refusal = grantRefusal(body.role, state);
      if (refusal) return refusal;
      const { account } = state.call.key;
      const invited = await people.invite({ ...body, account }, actorOf(state));
      const { decision, state: invitation, outboxPosition, id, token } = invited;
      if (decision.type === 'refused') return invitationRefusals[decision.refusal.type];
      if (invitation.status === 'none') throw new Error(`the new invitation ${id} does not exist`);
      const shown = {
        ...invitationOf({ ...invitation, id }),
        url: `${consoleUrl(ctx)}#i=${token}`,
      };
      return whenPublished(delivery, outboxPosition, () => json(201, shown));
    },

    async getInvitations({ state }) {
      const pending = await readInvitations(pool, 'account', state.call.key.account);
      return json(200, { invitations: pending.map(invitationOf) });
    },

    async getInvitation({ state, parameter }) {
      const pending = await readInvitations(pool, 'account', state.call.key.account);
      const found = pending.find(({ id }) => id === parameter('id'));
      return found ? json(200, invitationOf(found)) : unknownInvitation;
    },

    async withdrawInvitation({ state, parameter }) {
      const { account } = state.call.key;
      const withdrawn = await people.withdraw(parameter('id'), account, actorOf(state));
      const { decision, outboxPosition } = withdrawn;
      if (decision.type === 'refused') return invitationRefusals[decision.refusal.type];
      return whenPublished(delivery, outboxPosition, () => noContent());
    },

    async getMe({ state }) {
      const { id, name, account, scopes } = state.call.key;
      const caller = { account, scopes: [...scopes] };
      const person = isPersonId(id) ? await findPerson(pool, id) : null;
      const role = person?.roles.get(account)?.role as Role | undefined;
      const body: MeResponse =
        person && role
          ? {
              ...{ id, name: person.name, email: person.email, ...caller, role },
              accounts: accountRolesOf(person).map((found) => ({
                ...{ account: found.account, role: found.role },
              })),
            }
          : { key: { id, name }, ...caller };
      return json(200, body);
    },
  } satisfies Partial<V2Handlers>;
};
