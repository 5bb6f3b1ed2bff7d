import { createHash, randomBytes } from 'node:crypto';
import type { Context } from 'koa';
import { decideLocked, decideOne } from '../../ops/ledger/decide.js';
import { readShares, shares } from '../../ops/ledger/shares.js';
import { newId } from '../../ops/platform/new-id.js';
import type { CommandRequest } from '../../schemas/decision.js';
import type { ExistingLink } from '../../schemas/folds/link.js';
import type { Share } from '../../schemas/folds/share.js';
import { messages } from '../../schemas/http/errors.js';
import { shareRequest, type ShareRequest, type ShareResponse } from '../../schemas/http/shares.js';
import type { V2State } from '../admission/admitted-call.js';
import type { AdminHandlers } from '../http/operator-requests.js';
import { failure, json, noContent, whenPublished, type Reply } from '../http/reply.js';
import { actorIn } from '../http/request-actor.js';
import { parseJsonAs, type Handler } from '../http/requests.js';
import { addressedLink } from '../links/addressed-link.js';
import {
  createManagedLinks,
  type LinkCaller,
  type ManagedLinksDeps,
} from '../links/change/managed-links.js';
import { goneResponses } from '../links/view.js';
import { maxShares, shareDecider, type ShareCommand, type ShareRefusal } from './command.js';

export interface ShareDeps extends ManagedLinksDeps {
  /** The origin of the API for the client of a request. */
  readonly apiOrigin: (ctx: Context) => string;
}

interface Call extends Pick<LinkCaller, 'account' | 'actor'> {
  readonly ctx: Context;
  readonly parameter: (name: string) => string;
}

const refusals: Readonly<Record<ShareRefusal['type'], Reply>> = {
  notFound: failure(404, messages.shareNotFound),
  sharesExhausted: failure(400, `At most ${maxShares} shares a link`),
};

/** The stored hash of a token. */
export const hashShareToken = (token: string): string =>
  createHash('sha256').update(token).digest('base64url');

const viewOf = (id: string, share: Share): ShareResponse => {
  const { expiresAt, passwordHash, showDestination, createdAt } = share;
  return { id, expiresAt, hasPassword: passwordHash !== null, showDestination, createdAt };
};

/** The calls that accounts and operators share. */
const createShareCalls = (deps: ShareDeps) => {
  const { pool, outbox, delivery, passwords, apiOrigin } = deps;
  const links = createManagedLinks(deps);

  const withLink = async (
    { ctx, parameter, account }: Call,
    handle: (link: ExistingLink) => Promise<Reply>,
  ): Promise<Reply> => {
    const subject = await addressedLink(deps, ctx, parameter);
    if (subject.type === 'refused') return subject.reply;
    const found = await links.find(subject.value, account);
    return found ? handle(found.link) : failure(404, messages.codeNotFound);
  };

  return {
    create: (call: Call, { password, expiresIn, showDestination }: ShareRequest): Promise<Reply> =>
      withLink(call, async ({ status, link: { subject: link, account } }) => {
        if (status === 'deleted') return goneResponses.deleted;
        const secrets = password === null ? [] : [password];
        const [passwordHash = null] = await passwords.hashAll(call.actor.actor, secrets);
        const token = randomBytes(16).toString('base64url');
        const terms = { link, tokenHash: hashShareToken(token), passwordHash };
        const options = { showDestination: showDestination ?? false, expiresIn, account };
        const id = newId();
        const decided = await decideLocked(
          { pool, outbox },
          shares,
          shareDecider,
          { subject: id, metadata: call.actor },
          async (tx) => {
            const count = (await readShares(tx, 'link', link)).size;
            return { type: 'ShareStatistics', data: { ...terms, ...options, count } };
          },
        );
        const { decision, state, outboxPosition } = decided;
        if (decision.type === 'refused') return refusals[decision.refusal.type];
        if (state.status !== 'shared') throw new Error(`the new share ${id} is ${state.status}`);
        const body = { ...viewOf(id, state), url: `${apiOrigin(call.ctx)}/s/${token}` };
        return whenPublished(delivery, outboxPosition, () => json(201, body));
      }),

    list: (call: Call): Promise<Reply> =>
      withLink(call, async ({ link }) => {
        const listed = await readShares(pool, 'link', link.subject);
        return json(200, { shares: [...listed].map(([id, share]) => viewOf(id, share)) });
      }),

    end: (call: Call): Promise<Reply> =>
      withLink(call, async ({ link: { subject: link, account } }) => {
        const command: CommandRequest<ShareCommand> = {
          ...{ type: 'EndShare', subject: call.parameter('id'), data: { link, account } },
          metadata: call.actor,
        };
        const decided = await decideOne({ pool, outbox }, shares, shareDecider, command);
        const { decision, outboxPosition } = decided;
        if (decision.type === 'refused') return refusals[decision.refusal.type];
        return whenPublished(delivery, outboxPosition, () => noContent());
      }),
  };
};

/** `/v2/links/:shortCode/share` */
export const createShareHandlers = (deps: ShareDeps) => {
  const calls = createShareCalls(deps);
  const callOf = ([ctx, state, parameter]: Parameters<Handler<V2State>>): Call => {
    const { account, id } = state.call.key;
    return { ctx, parameter, account, actor: actorIn(state, id) };
  };
  return {
    shareStatistics(...request) {
      const [, state] = request;
      const body = parseJsonAs(shareRequest, state.body, state);
      return body.type === 'refused' ? body.reply : calls.create(callOf(request), body.value);
    },
    getShares: (...request) => calls.list(callOf(request)),
    endShare: (...request) => calls.end(callOf(request)),
  } satisfies Readonly<Record<string, Handler<V2State>>>;
};

/** `/admin/links/:shortCode/share`, for links of any account. */
export const shareHandlers = ((deps) => {
  const { create, list, end } = createShareCalls(deps);
  const any = { account: null };
  return {
    shareStatistics: ({ body, state, ...request }) =>
      create({ ...request, ...any, actor: state.actor }, body),
    getShares: ({ state, ...request }) => list({ ...request, ...any, actor: state.actor }),
    endShare: ({ state, ...request }) => end({ ...request, ...any, actor: state.actor }),
  };
}) satisfies AdminHandlers;
