import { messages } from '../../../schemas/http/errors.js';
import type { AdminHandlers } from '../../http/operator-requests.js';
import { failure, json } from '../../http/reply.js';
import { addressedLink } from '../addressed-link.js';
import { findLinkHistory } from './link-history.js';

export const historyHandlers = (({ pool, outbox }) => ({
  async getLinkHistory({ ctx, query, parameter }) {
    const subject = await addressedLink({ pool }, ctx, parameter);
    if (subject.type === 'refused') return subject.reply;
    const page = await findLinkHistory(pool, outbox, { ...query, subject: subject.value });
    return page === null ? failure(404, messages.codeNotFound) : json(200, page);
  },
})) satisfies AdminHandlers;
