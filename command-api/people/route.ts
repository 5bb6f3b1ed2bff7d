import type { Context } from 'koa';
import type { OutboxDelivery } from '../../ops/event-log/outbox/port.js';
import { listInvitations } from '../../ops/ledger/invitations.js';
import { findPerson, listPeople } from '../../ops/ledger/people.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { messages } from '../../schemas/http/errors.js';
import {
  inviteRequest,
  peopleQuery,
  removePersonQuery,
  roleRequest,
  type MeResponse,
} from '../../schemas/http/people.js';
import { isPersonId, scopesOfRole, type Role } from '../../schemas/roles.js';
import { scopeLacking, type V2State } from '../admission/admitted-call.js';
import { failure, json, noContent, pageOf, whenPublished, type Reply } from '../http/reply.js';
import { actorIn } from '../http/request-actor.js';
import { parseJsonAs, parseQuery, type Handler } from '../http/requests.js';
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

  const getPeople: Handler<V2State> = async (ctx, { call: { key } }) => {
    const query = parseQuery(peopleQuery, ctx);
    if (query.type === 'refused') return query.reply;
    const { limit, after = '' } = query.value;
    const found = await listPeople(pool, key.account, limit + 1, after);
    const { page, next } = pageOf(found, limit, ({ id }) => id);
    return json(200, {
      people: page.flatMap((person) => personOf(person, key.account) ?? []),
      next,
    });
  };

  const changePerson: Handler<V2State> = async (_ctx, state, parameter) => {
    const request = parseJsonAs(roleRequest, state.body, state);
    if (request.type === 'refused') return request.reply;
    const { role } = request.value;
    const refusal = grantRefusal(role, state);
    if (refusal) return refusal;
    const id = parameter('id');
    if (!isPersonId(id)) return unknownPerson;
    const { account, id: caller } = state.call.key;
    const outcome = await people.setRole(id, account, role, actorIn(state, caller));
    return respond(outcome, () => shown(id, account));
  };

  const removePerson: Handler<V2State> = async (ctx, state, parameter) => {
    const query = parseQuery(removePersonQuery, ctx);
    if (query.type === 'refused') return query.reply;
    const id = parameter('id');
    if (!isPersonId(id)) return unknownPerson;
    const { account, id: caller } = state.call.key;
    const revokesKeys = query.value.revokeKeys === '1';
    const outcome = await people.remove(id, [account], actorIn(state, caller), revokesKeys);
    return respond(outcome, ({ keys }) => json(200, { keys }));
  };

  const invitePerson: Handler<V2State> = async (ctx, state) => {
    const request = parseJsonAs(inviteRequest, state.body, state);
    if (request.type === 'refused') return request.reply;
    const refusal = grantRefusal(request.value.role, state);
    if (refusal) return refusal;
    const { account, id: caller } = state.call.key;
    const invited = await people.invite({ ...request.value, account }, actorIn(state, caller));
    const { decision, state: invitation, outboxPosition, id, token } = invited;
    if (decision.type === 'refused') return invitationRefusals[decision.refusal.type];
    if (invitation.status === 'none') throw new Error(`the new invitation ${id} does not exist`);
    const url = `${consoleUrl(ctx)}#i=${token}`;
    const body = { ...invitationOf({ ...invitation, id }), url };
    return whenPublished(delivery, outboxPosition, () => json(201, body));
  };

  const getInvitations: Handler<V2State> = async (_ctx, { call: { key } }) => {
    const pending = await listInvitations(pool, key.account);
    return json(200, { invitations: pending.map(invitationOf) });
  };

  const getInvitation: Handler<V2State> = async (_ctx, { call: { key } }, parameter) => {
    const pending = await listInvitations(pool, key.account);
    const found = pending.find(({ id }) => id === parameter('id'));
    return found ? json(200, invitationOf(found)) : unknownInvitation;
  };

  const withdrawInvitation: Handler<V2State> = async (_ctx, state, parameter) => {
    const { account, id: caller } = state.call.key;
    const withdrawn = await people.withdraw(parameter('id'), account, actorIn(state, caller));
    const { decision, outboxPosition } = withdrawn;
    if (decision.type === 'refused') return invitationRefusals[decision.refusal.type];
    return whenPublished(delivery, outboxPosition, () => noContent());
  };

  const getMe: Handler<V2State> = async (_ctx, { call: { key } }) => {
    const { id, account, scopes } = key;
    const caller = { account, scopes: [...scopes] };
    const person = isPersonId(id) ? await people.find(id) : null;
    const role = person?.roles.get(account)?.role as Role | undefined;
    const body: MeResponse =
      person && role
        ? {
            ...{ id, name: person.name, email: person.email, ...caller, role },
            accounts: accountRolesOf(person).map((found) => ({
              ...{ account: found.account, role: found.role },
            })),
          }
        : { key: { id, name: key.name }, ...caller };
    return json(200, body);
  };

  return {
    ...{ getPeople, changePerson, removePerson, getMe },
    ...{ invitePerson, getInvitations, getInvitation, withdrawInvitation },
  };
};
