import { messages } from '../../../schemas/http/errors.js';
import { historyQuery } from '../../../schemas/http/history.js';
import type { V2State } from '../../admission/admitted-call.js';
import { failure, json } from '../../http/reply.js';
import { parseQuery, type Handler } from '../../http/requests.js';
import { addressedLink } from '../addressed-link.js';
import { createManagedLinks, type ManagedLinksDeps } from '../change/managed-links.js';
import { findLinkHistory } from './link-history.js';

/** `GET /v2/links/:shortCode/history`. */
export const createHistoryHandler = (deps: ManagedLinksDeps): Handler<V2State> => {
  const links = createManagedLinks(deps);
  return async (ctx, { call }, parameter) => {
    const query = parseQuery(historyQuery, ctx);
    if (query.type === 'refused') return query.reply;
    const subject = await addressedLink(deps, ctx, parameter);
    if (subject.type === 'refused') return subject.reply;
    const found = await links.find(subject.value, call.key.account);
    if (!found) return failure(404, messages.codeNotFound);
    const page = await findLinkHistory(deps.pool, deps.outbox, {
      ...query.value,
      subject: subject.value,
      forOwner: true,
    });
    return page === null ? failure(404, messages.codeNotFound) : json(200, page);
  };
};
