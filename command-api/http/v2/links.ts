import { messages } from '../../../schemas/http/errors.js';
import { changeLinkRequest } from '../../../schemas/http/links.js';
import { historyQuery } from '../../../schemas/http/history.js';
import { findLinkHistory, forOwner } from '../../reports/link-history.js';
import {
  createManagedLinks,
  type ChangeOutcome,
  type LinkCaller,
  type ManagedLinksDeps,
} from '../managed-links.js';
import { failure, json, noContent, type Reply } from '../reply.js';
import { parseAs, parseJsonAs, type Handler } from '../requests.js';
import type { PlanDeps, V2State } from './admitted-call.js';
import { gateRefusal } from './gates.js';
import { etagOf, ifMatch } from './if-match.js';

export interface LinkDeps extends ManagedLinksDeps, PlanDeps {
  readonly isOwnHost: (destination: URL) => boolean;
}

const callerOf = ({ call, requestId, uncounted }: V2State): LinkCaller => ({
  actor: { actor: call.key.id, requestId },
  account: call.key.account,
  hashingLane: call.key.rootId,
  uncounted,
});

/** `/v2/links`: what owners do with their links. */
export const createLinkHandlers = (deps: LinkDeps) => {
  const { pool, outbox } = deps;
  const links = createManagedLinks(deps);
  const changeRequest = changeLinkRequest(deps.isOwnHost);

  const detailed = async (
    { link, version }: Pick<Extract<ChangeOutcome, { type: 'settled' }>, 'link' | 'version'>,
    { call }: V2State,
  ): Promise<Reply> =>
    json(200, await links.details(link, version, call.now), { ETag: etagOf(version) });

  const show: Handler<V2State> = async (_ctx, state, parameter) => {
    const found = await links.find(parameter('shortCode'), state.call.key.account);
    return found ? detailed(found, state) : failure(404, messages.codeNotFound);
  };

  const change: Handler<V2State> = async (ctx, state, parameter) => {
    const request = parseJsonAs(changeRequest, state.body);
    if (request.type === 'refused') return request.reply;
    const refusal = gateRefusal(request.value, state, deps);
    if (refusal) return refusal;
    const code = parameter('shortCode');
    const isMeant = ifMatch(ctx.headers['if-match']);
    const [outcome] = await links.change(
      [{ code, isMeant, change: request.value }],
      callerOf(state),
    );
    if (!outcome) throw new Error('An outcome is due');
    return outcome.type === 'settled' ? detailed(outcome, state) : outcome.reply;
  };

  const remove: Handler<V2State> = async (ctx, state, parameter) => {
    const code = parameter('shortCode');
    const isMeant = ifMatch(ctx.headers['if-match']);
    const [outcome] = await links.change([{ code, isMeant, change: 'delete' }], callerOf(state));
    if (!outcome) throw new Error('An outcome is due');
    return outcome.type === 'settled' ? noContent() : outcome.reply;
  };

  const history: Handler<V2State> = async (ctx, { call }, parameter) => {
    const query = parseAs(historyQuery, { ...ctx.query });
    if (query.type === 'refused') return query.reply;
    const { after, limit } = query.value;
    const found = await links.find(parameter('shortCode'), call.key.account);
    const page = found && (await findLinkHistory(pool, outbox, found.link.link.code, after, limit));
    if (!page) return failure(404, messages.codeNotFound);
    return json(200, { ...page, events: page.events.map(forOwner) });
  };

  return { show, change, remove, history };
};
