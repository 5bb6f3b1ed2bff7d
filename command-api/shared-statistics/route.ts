import { createHash, randomBytes } from 'node:crypto';
import type { Context } from 'koa';
import { createLockedDecisions } from '../../ops/ledger/decide.js';
import { readShares, shares } from '../../ops/ledger/shares.js';
import { newId } from '../../ops/platform/new-id.js';
import type { Client } from '../../ops/platform/postgres/pool.js';
import type { Actor } from '../../schemas/decision.js';
import type { ExistingLink } from '../../schemas/folds/link.js';
import type { Share } from '../../schemas/folds/share.js';
import { messages } from '../../schemas/http/errors.js';
import type { ShareRequest, ShareResponse } from '../../schemas/http/shares.js';
import type { OperatorHandlers } from '../http/operator-requests.js';
import { failure, json, noContent, whenPublished, type Reply } from '../http/reply.js';
import { accountOf, actorOf, type AnyRequest, type V2Handlers } from '../http/row-handlers.js';
import { addressedLink } from '../links/addressed-link.js';
import { createManagedLinks, type ManagedLinksDeps } from '../links/change/managed-links.js';
import { goneResponses } from '../links/view.js';
import { maxShares, shareDecider, type ShareRefusal } from './command.js';

export interface ShareDeps extends ManagedLinksDeps {
  /** The origin of the API for the client of a request. */
  readonly apiOrigin: (ctx: Context) => string;
}

type ShareCall = Omit<AnyRequest<'getShares'>, 'query' | 'body'>;

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

/** `…/links/:shortCode/share`, for accounts and for operators. */
export const createShareHandlers = (deps: ShareDeps) => {
  const { pool, outbox, delivery, passwords, apiOrigin } = deps;
  const links = createManagedLinks(deps);
  const decisions = createLockedDecisions({ pool, outbox }, shares, shareDecider);

  const withLink = async (
    { ctx, state, parameter }: ShareCall,
    handle: (link: ExistingLink, actor: Actor) => Promise<Reply>,
  ): Promise<Reply> => {
    const subject = await addressedLink(deps, ctx, parameter);
    if (subject.type === 'refused') return subject.reply;
    const found = await links.find(subject.value, accountOf(state));
    return found ? handle(found.link, actorOf(state)) : failure(404, messages.codeNotFound);
  };

  return {
    shareStatistics: ({ body, ...call }: ShareCall & { readonly body: ShareRequest }) =>
      withLink(call, async ({ status, link: { subject: link, account } }, metadata) => {
        if (status === 'deleted') return goneResponses.deleted;
        const { password, expiresIn, showDestination } = body;
        const secrets = password === null ? [] : [password];
        const [passwordHash = null] = await passwords.hashAll(metadata.actor, secrets);
        const token = randomBytes(16).toString('base64url');
        const terms = { link, tokenHash: hashShareToken(token), passwordHash };
        const options = { showDestination: showDestination ?? false, expiresIn, account };
        const id = newId();
        const commandOf = async (tx: Client) => {
          const count = (await readShares(tx, 'link', link)).size;
          return { type: 'ShareStatistics' as const, data: { ...terms, ...options, count } };
        };
        const decided = await decisions.submit({ subject: id, metadata, commandOf });
        const { decision, state, outboxPosition } = decided;
        if (decision.type === 'refused') return refusals[decision.refusal.type];
        if (state.status !== 'shared') throw new Error(`the new share ${id} is ${state.status}`);
        const created = { ...viewOf(id, state), url: `${apiOrigin(call.ctx)}/s/${token}` };
        return whenPublished(delivery, outboxPosition, () => json(201, created));
      }),

    getShares: (call: ShareCall) =>
      withLink(call, async ({ link }) => {
        const listed = await readShares(pool, 'link', link.subject);
        return json(200, { shares: [...listed].map(([id, share]) => viewOf(id, share)) });
      }),

    endShare: (call: ShareCall) =>
      withLink(call, async ({ link: { subject: link, account } }, metadata) => {
        const { decision, outboxPosition } = await decisions.submit({
          ...{ subject: call.parameter('id'), metadata },
          commandOf: () => Promise.resolve({ type: 'EndShare', data: { link, account } }),
        });
        if (decision.type === 'refused') return refusals[decision.refusal.type];
        return whenPublished(delivery, outboxPosition, () => noContent());
      }),
  } satisfies Partial<V2Handlers & OperatorHandlers>;
};
