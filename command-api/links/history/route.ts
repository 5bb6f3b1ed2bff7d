import { messages } from '../../../schemas/http/errors.js';
import { failure, json, type Reply } from '../../http/reply.js';
import { accountOf, type AnyRequest } from '../../http/row-handlers.js';
import { addressedLink } from '../addressed-link.js';
import { createManagedLinks, type ManagedLinksDeps } from '../change/managed-links.js';
import { findLinkHistory } from './link-history.js';

/** `GET …/links/:shortCode/history`, for accounts and for operators. */
export const createHistoryHandler = (deps: ManagedLinksDeps) => {
  const links = createManagedLinks(deps);
  return async ({ ctx, query, state, parameter }: AnyRequest<'getLinkHistory'>): Promise<Reply> => {
    const subject = await addressedLink(deps, ctx, parameter);
    if (subject.type === 'refused') return subject.reply;
    const account = accountOf(state);
    const isVisible = account === null || (await links.find(subject.value, account)) !== null;
    const request = { ...query, subject: subject.value, forOwner: account !== null };
    const page = isVisible ? await findLinkHistory(deps.pool, deps.outbox, request) : null;
    return page === null ? failure(404, messages.codeNotFound) : json(200, page);
  };
};
