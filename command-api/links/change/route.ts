import { only } from '../../../ops/platform/collections.js';
import { messages } from '../../../schemas/http/errors.js';
import { warningOf } from '../../../schemas/http/link-options.js';
import type { OptionFields } from '../../../schemas/link-options.js';
import {
  createManagedLinks,
  type LinkCaller,
  type ManagedLinksDeps,
  type VersionedLink,
  type RequestedChange,
} from './managed-links.js';
import { failure, json, noContent, unavailable, type Reply } from '../../http/reply.js';
import {
  accountOf,
  actorOf,
  isOfOperator,
  type AdminState,
  type V2Handler,
  type V2Handlers,
} from '../../http/row-handlers.js';
import { type PlanDeps, type V2State, gateRefusal } from '../../admission/admitted-call.js';
import { addressedLink, etagOf, ifMatch } from '../addressed-link.js';

export const callerOf = (state: V2State | AdminState): LinkCaller => ({
  actor: actorOf(state),
  account: accountOf(state),
  rootId: isOfOperator(state) ? null : state.call.key.rootId,
  readsLinks: isOfOperator(state) || state.call.key.scopes.includes('links:read'),
  uncounted: state.uncounted,
});

/** GET, PATCH, DELETE and restore of `/v2/links/:shortCode`. */
export const createLinkHandlers = (deps: ManagedLinksDeps & PlanDeps) => {
  const links = createManagedLinks(deps);

  /** Changes a link. Responds with `reply` as soon as the log has the events. */
  const applyChange = async (
    { ctx, state, parameter }: Omit<Parameters<V2Handler<'deleteLink'>>[0], 'body'>,
    change: RequestedChange['change'],
    reply: (changed: VersionedLink) => Reply | Promise<Reply>,
  ): Promise<Reply> => {
    const subject = await addressedLink(deps, ctx, parameter);
    if (subject.type === 'refused') return subject.reply;
    const versions = ifMatch(ctx.headers['if-match']);
    const requested = { subject: subject.value, versions, change };
    const outcome = only(await links.change([requested], callerOf(state)));
    if (outcome.type === 'refused') return outcome.reply;
    return outcome.published ? reply(outcome) : unavailable(messages.logUnavailable);
  };

  const changedLink = async (
    state: V2State,
    changed: VersionedLink,
    change: OptionFields = {},
  ): Promise<Reply> => {
    const shown = only(await links.changed([changed], callerOf(state), state.call.now));
    return json(200, { ...shown, ...warningOf(change) }, { ETag: etagOf(changed.version) });
  };

  return {
    async getLink({ ctx, state, parameter }) {
      const subject = await addressedLink(deps, ctx, parameter);
      if (subject.type === 'refused') return subject.reply;
      const found = await links.find(subject.value, state.call.key.account);
      if (!found) return failure(404, messages.codeNotFound);
      const details = only(await links.details([found], state.call.now));
      return json(200, details, { ETag: etagOf(found.version) });
    },

    changeLink(request) {
      const { body: change, state } = request;
      const refusal = gateRefusal(change, state, deps);
      if (refusal) return refusal;
      return applyChange(request, change, (changed) => changedLink(state, changed, change));
    },

    deleteLink: (request) => applyChange(request, 'delete', () => noContent()),
    restoreLink: (request) =>
      applyChange(request, 'restore', (restored) => changedLink(request.state, restored)),
  } satisfies Partial<V2Handlers>;
};
