import { type Destinations } from '../../../schemas/http/link-fields.js';
import { messages } from '../../../schemas/http/errors.js';
import { warningOf } from '../../../schemas/http/link-options.js';
import { changeLinkRequest } from '../../../schemas/http/links.js';
import {
  createManagedLinks,
  only,
  type LinkCaller,
  type ManagedLinksDeps,
  type VersionedLink,
  type RequestedChange,
} from './managed-links.js';
import { failure, json, noContent, unavailable, type Reply } from '../../http/reply.js';
import { actorIn } from '../../http/request-actor.js';
import { parseJsonAs, type Handler } from '../../http/requests.js';
import { type PlanDeps, type V2State, gateRefusal } from '../../admission/admitted-call.js';
import { addressedLink, etagOf, ifMatch } from '../addressed-link.js';

interface LinkDeps extends ManagedLinksDeps, PlanDeps {
  readonly destinations: Destinations;
}

export const callerOf = (state: V2State): LinkCaller => {
  const { key } = state.call;
  return {
    actor: actorIn(state, key.id),
    account: key.account,
    rootId: key.rootId,
    readsLinks: key.scopes.includes('links:read'),
    uncounted: state.uncounted,
  };
};

/** GET, PATCH and DELETE of `/v2/links/:shortCode`. */
export const createLinkHandlers = (deps: LinkDeps) => {
  const links = createManagedLinks(deps);
  const changeRequest = changeLinkRequest(deps.destinations);

  /** Changes a link. Responds with `reply` as soon as the log has the events. */
  const applyChange = async (
    [ctx, state, parameter]: Parameters<Handler<V2State>>,
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

  return {
    async getLink(ctx, state, parameter) {
      const subject = await addressedLink(deps, ctx, parameter);
      if (subject.type === 'refused') return subject.reply;
      const found = await links.find(subject.value, state.call.key.account);
      if (!found) return failure(404, messages.codeNotFound);
      const details = only(await links.details([found], state.call.now));
      return json(200, details, { ETag: etagOf(found.version) });
    },

    changeLink(...call) {
      const [, state] = call;
      const request = parseJsonAs(changeRequest, state.body, state);
      if (request.type === 'refused') return request.reply;
      const refusal = gateRefusal(request.value, state, deps);
      if (refusal) return refusal;
      return applyChange(call, request.value, async (changed) => {
        const shown = only(await links.changed([changed], callerOf(state), state.call.now));
        const body = { ...shown, ...warningOf(request.value) };
        return json(200, body, { ETag: etagOf(changed.version) });
      });
    },

    deleteLink: (...call) => applyChange(call, 'delete', () => noContent()),
  } satisfies Readonly<Record<string, Handler<V2State>>>;
};
