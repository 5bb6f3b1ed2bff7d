import { messages } from '../../../schemas/http/errors.js';
import { changeLinkRequest } from '../../../schemas/http/links.js';
import { historyQuery } from '../../../schemas/http/history.js';
import { listLinksQuery } from '../../../schemas/http/list-links.js';
import { findLinkHistory } from '../../reports/link-history.js';
import { answerList } from '../link-lists.js';
import {
  createManagedLinks,
  type LinkCaller,
  type ManagedLinksDeps,
  type VersionedLink,
  type WantedChange,
} from '../managed-links.js';
import { failure, json, noContent, unavailable, type Reply } from '../reply.js';
import { parseJsonAs, parseQuery, type Handler } from '../requests.js';
import type { PlanDeps, V2State } from './admitted-call.js';
import { gateRefusal } from './gates.js';
import { etagOf, ifMatch } from './if-match.js';

export interface LinkDeps extends ManagedLinksDeps, PlanDeps {
  readonly isOwnHost: (destination: URL) => boolean;
}

export const callerOf = ({ call, requestId, uncounted }: V2State): LinkCaller => ({
  actor: { actor: call.key.id, requestId },
  account: call.key.account,
  hashingLane: call.key.rootId,
  readsLinks: call.key.scopes.includes('links:read'),
  uncounted,
});

/** `/v2/links`: what owners do with their links. */
export const createLinkHandlers = (deps: LinkDeps) => {
  const { pool, outbox } = deps;
  const links = createManagedLinks(deps);
  const changeRequest = changeLinkRequest(deps.isOwnHost);

  const detailed = async (found: VersionedLink, { call }: V2State): Promise<Reply> => {
    const [details] = await links.details([found], call.now);
    if (!details) throw new Error('Details are due');
    return json(200, details, { ETag: etagOf(found.version) });
  };

  /** Makes one change, and answers with `reply` once the log has its events. */
  const settle = async (
    change: WantedChange,
    state: V2State,
    reply: (changed: VersionedLink) => Reply | Promise<Reply>,
  ): Promise<Reply> => {
    const [outcome] = await links.change([change], callerOf(state));
    if (!outcome) throw new Error('An outcome is due');
    if (outcome.type === 'refused') return outcome.reply;
    return outcome.logged ? reply(outcome) : unavailable(messages.logUnavailable);
  };

  const show: Handler<V2State> = async (_ctx, state, parameter) => {
    const found = await links.find(parameter('shortCode'), state.call.key.account);
    return found ? detailed(found, state) : failure(404, messages.codeNotFound);
  };

  const change: Handler<V2State> = async (ctx, state, parameter) => {
    const request = parseJsonAs(changeRequest, state.body, state);
    if (request.type === 'refused') return request.reply;
    const refusal = gateRefusal(request.value, state, deps);
    if (refusal) return refusal;
    const code = parameter('shortCode');
    const isMeant = ifMatch(ctx.headers['if-match']);
    return settle({ code, isMeant, change: request.value }, state, async (changed) => {
      const [shown] = await links.changed([changed], callerOf(state), state.call.now);
      if (!shown) throw new Error('changed() returned no link for 1 link');
      return json(200, shown, { ETag: etagOf(changed.version) });
    });
  };

  const remove: Handler<V2State> = (ctx, state, parameter) => {
    const code = parameter('shortCode');
    const isMeant = ifMatch(ctx.headers['if-match']);
    return settle({ code, isMeant, change: 'delete' }, state, () => noContent());
  };

  const history: Handler<V2State> = async (ctx, { call }, parameter) => {
    const query = parseQuery(historyQuery, ctx);
    if (query.type === 'refused') return query.reply;
    const found = await links.find(parameter('shortCode'), call.key.account);
    if (!found) return failure(404, messages.codeNotFound);
    const asked = { ...query.value, code: found.link.link.code, forOwner: true };
    const page = await findLinkHistory(pool, outbox, asked);
    return page === null ? failure(404, messages.codeNotFound) : json(200, page);
  };

  const list: Handler<V2State> = async (ctx, { call }) => {
    const asked = parseQuery(listLinksQuery, ctx);
    if (asked.type === 'refused') return asked.reply;
    const { account } = call.key;
    return answerList(deps, { ...asked.value, account }, call.now, (details) => details);
  };

  return { list, show, change, remove, history };
};
