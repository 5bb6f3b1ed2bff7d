import { createHash, randomBytes } from 'node:crypto';
import type { Context } from 'koa';
import type { Outbox, OutboxDelivery, OutboxPosition } from '../../ops/event-log/outbox/port.js';
import { decideOne, decideOneIn } from '../../ops/ledger/decide.js';
import { readLinkStates } from '../../ops/ledger/link-states.js';
import { readShares, shares } from '../../ops/ledger/shares.js';
import { traced } from '../../ops/ledger/traced.js';
import { newId } from '../../ops/platform/new-id.js';
import type { PasswordHasher } from '../../ops/platform/passwords/password-hasher.js';
import { transaction, type Pool } from '../../ops/platform/postgres/pool.js';
import type { CommandRequest, Actor } from '../../schemas/decision.js';
import type { ExistingLink } from '../../schemas/folds/link.js';
import type { Share } from '../../schemas/folds/share.js';
import { messages } from '../../schemas/http/errors.js';
import {
  shareRequest,
  type CreatedShareResponse,
  type ShareRequest,
  type ShareResponse,
} from '../../schemas/http/shares.js';
import type { V2State } from '../admission/admitted-call.js';
import type { AdminHandlers } from '../http/operator-requests.js';
import { failure, json, noContent, whenPublished, type Reply } from '../http/reply.js';
import { actorIn } from '../http/request-actor.js';
import { parseJsonAs, refusedWith, type Handler, type Read } from '../http/requests.js';
import { addressedLink } from '../links/addressed-link.js';
import { maxShares, shareDecider, type ShareCommand, type ShareRefusal } from './command.js';

export interface ShareDeps {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly delivery: OutboxDelivery;
  readonly passwords: Pick<PasswordHasher, 'hashAll'>;
  /** The origin of the API for the client of a request. */
  readonly apiOrigin: (ctx: Context) => string;
}

interface Caller {
  readonly ctx: Context;
  readonly parameter: Parameters<Handler<never>>[2];
  /** `null`: links of any account. */
  readonly account: string | null;
  readonly actor: Actor;
}

/** Responds as soon as the log has the event. */
type Respond = (position: OutboxPosition, status: 200 | 201, body: object) => Promise<Reply>;

const refusals: Readonly<Record<ShareRefusal['type'], Reply>> = {
  notFound: failure(404, messages.shareNotFound),
  sharesExhausted: failure(400, `At most ${maxShares} shares a link`),
};

export const linkDeleted: Reply = { ...failure(410, messages.linkDeleted), errorType: 'DELETED' };

/** The stored hash of a token of 128 bits. */
export const hashShareToken = (token: string): string =>
  createHash('sha256').update(token).digest('base64url');

const viewOf = ({ id, expiresAt, passwordHash, showDestination, createdAt }: ShareView) => ({
  ...{ id, expiresAt, hasPassword: passwordHash !== null, showDestination, createdAt },
});
type ShareView = Share & { readonly id: string };

/** The calls that accounts and operators share. */
const createShareCalls = ({ pool, outbox, passwords, apiOrigin }: ShareDeps) => {
  const linkOf = async ({ ctx, parameter, account }: Caller): Promise<Read<ExistingLink>> => {
    const subject = await addressedLink({ pool }, ctx, parameter);
    if (subject.type === 'refused') return subject;
    const links = await readLinkStates(pool, outbox, [subject.value]);
    const state = links.get(subject.value)?.state ?? { status: 'none' };
    return state.status === 'none' || (account !== null && state.link.account !== account)
      ? refusedWith(failure(404, messages.codeNotFound))
      : { type: 'read', value: state };
  };

  return {
    async share(caller: Caller, request: ShareRequest, respond: Respond): Promise<Reply> {
      const found = await linkOf(caller);
      if (found.type === 'refused') return found.reply;
      if (found.value.status === 'deleted') return linkDeleted;
      const { subject: link, account } = found.value.link;
      const { actor: metadata, ctx } = caller;
      const { password, expiresIn, showDestination } = request;
      const secrets = password === null ? [] : [password];
      const [passwordHash = null] = await passwords.hashAll(metadata.actor, secrets);
      const token = randomBytes(16).toString('base64url');
      const tokenHash = hashShareToken(token);
      const terms = { link, tokenHash, passwordHash, showDestination: showDestination ?? false };
      const id = newId();
      const { decision, state, outboxPosition } = await traced(pool, [metadata], () =>
        transaction(pool, async (tx) => {
          await shares.lock(tx, [id]);
          const count = (await readShares(tx, 'link', link)).length;
          const data = { account, terms, expiresIn, count };
          const command: CommandRequest<ShareCommand> = {
            ...{ type: 'ShareStatistics', subject: id, data, metadata },
          };
          return decideOneIn(tx, outbox, shares, shareDecider, command);
        }),
      );
      if (decision.type === 'refused') return refusals[decision.refusal.type];
      if (state.status !== 'shared') throw new Error(`the share ${id} is ${state.status}`);
      const url = `${apiOrigin(ctx)}/s/${token}`;
      const body: CreatedShareResponse = { ...viewOf({ ...state, id }), url };
      return respond(outboxPosition, 201, body);
    },

    async list(caller: Caller): Promise<Reply> {
      const found = await linkOf(caller);
      if (found.type === 'refused') return found.reply;
      const listed = await readShares(pool, 'link', found.value.link.subject);
      return json(200, { shares: listed.map(viewOf) satisfies ShareResponse[] });
    },

    async end(caller: Caller, respond: Respond): Promise<Reply> {
      const found = await linkOf(caller);
      if (found.type === 'refused') return found.reply;
      const { subject: link, account } = found.value.link;
      const id = caller.parameter('id');
      const { decision, outboxPosition } = await decideOne({ pool, outbox }, shares, shareDecider, {
        ...{ type: 'EndShare', subject: id, data: { account, link }, metadata: caller.actor },
      });
      if (decision.type === 'refused') return refusals[decision.refusal.type];
      return respond(outboxPosition, 200, { id });
    },
  };
};

/** `/v2/links/:shortCode/share` */
export const createShareHandlers = (
  deps: ShareDeps,
): Readonly<Record<'shareStatistics' | 'getShares' | 'endShare', Handler<V2State>>> => {
  const calls = createShareCalls(deps);
  const callerOf = (...[ctx, state, parameter]: Parameters<Handler<V2State>>): Caller => {
    const { account, id } = state.call.key;
    return { ctx, parameter, account, actor: actorIn(state, id) };
  };
  return {
    shareStatistics(ctx, state, parameter) {
      const request = parseJsonAs(shareRequest, state.body, state);
      if (request.type === 'refused') return request.reply;
      return calls.share(callerOf(ctx, state, parameter), request.value, (position, status, body) =>
        whenPublished(deps.delivery, position, () => json(status, body)),
      );
    },
    getShares: (...request) => calls.list(callerOf(...request)),
    endShare: (...request) =>
      calls.end(callerOf(...request), (position) =>
        whenPublished(deps.delivery, position, () => noContent()),
      ),
  };
};

/** `/admin/links/:shortCode/share`, for links of any account. */
export const shareHandlers = ((deps) => {
  const calls = createShareCalls(deps);
  const any = { account: null } as const;
  return {
    shareStatistics: ({ body, ctx, parameter, state: { actor } }) =>
      calls.share({ ...any, ctx, parameter, actor }, body, deps.respond),
    getShares: ({ ctx, parameter, state: { actor } }) =>
      calls.list({ ...any, ctx, parameter, actor }),
    endShare: ({ ctx, parameter, state: { actor } }) =>
      calls.end({ ...any, ctx, parameter, actor }, deps.respond),
  };
}) satisfies AdminHandlers;
