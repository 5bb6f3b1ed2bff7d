import { type Destinations } from '../../../schemas/http/link-fields.js';
import { messages } from '../../../schemas/http/errors.js';
import { warningOf } from '../../../schemas/http/link-options.js';
import { changeLinkRequest } from '../../../schemas/http/links.js';
import {
  createManagedLinks,
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

  const detailed = async (found: VersionedLink, { call }: V2State): Promise<Reply> => {
    const [details] = await links.details([found], call.now);
    if (!details) throw new Error('details() returned no link for 1 link');
    return json(200, details, { ETag: etagOf(found.version) });
  };

  /** Changes a link. Responds with `reply` as soon as the log has the events. */
  const applyChange = async (
    change: RequestedChange,
    state: V2State,
    reply: (changed: VersionedLink) => Reply | Promise<Reply>,
  ): Promise<Reply> => {
    const [outcome] = await links.change([change], callerOf(state));
    if (!outcome) throw new Error('change() returned no outcome for 1 change');
    if (outcome.type === 'refused') return outcome.reply;
    return outcome.published ? reply(outcome) : unavailable(messages.logUnavailable);
  };

  const show: Handler<V2State> = async (ctx, state, parameter) => {
    const subject = await addressedLink(deps, ctx, parameter);
    if (subject.type === 'refused') return subject.reply;
    const found = await links.find(subject.value, state.call.key.account);
    return found ? detailed(found, state) : failure(404, messages.codeNotFound);
  };

  const change: Handler<V2State> = async (ctx, state, parameter) => {
    const request = parseJsonAs(changeRequest, state.body, state);
    if (request.type === 'refused') return request.reply;
    const refusal = gateRefusal(request.value, state, deps);
    if (refusal) return refusal;
    const subject = await addressedLink(deps, ctx, parameter);
    if (subject.type === 'refused') return subject.reply;
    const versions = ifMatch(ctx.headers['if-match']);
    const requested = { subject: subject.value, versions, change: request.value };
    return applyChange(requested, state, async (changed) => {
      const [shown] = await links.changed([changed], callerOf(state), state.call.now);
      if (!shown) throw new Error('changed() returned no link for 1 link');
      const body = { ...shown, ...warningOf(request.value) };
      return json(200, body, { ETag: etagOf(changed.version) });
    });
  };

  const remove: Handler<V2State> = async (ctx, state, parameter) => {
    const subject = await addressedLink(deps, ctx, parameter);
    if (subject.type === 'refused') return subject.reply;
    const versions = ifMatch(ctx.headers['if-match']);
    const requested = { subject: subject.value, versions, change: 'delete' } as const;
    return applyChange(requested, state, () => noContent());
  };

  return { getLink: show, changeLink: change, deleteLink: remove };
};
