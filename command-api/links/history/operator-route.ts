import { messages } from '../../../schemas/http/errors.js';
import { historyQuery } from '../../../schemas/http/history.js';
import { withQuery, type AdminRoutes } from '../../http/operator-requests.js';
import { failure, json } from '../../http/reply.js';
import { addressedLink } from '../addressed-link.js';
import { findLinkHistory } from './link-history.js';

/** `GET /admin/links/:shortCode/history`. */
export const historyRoutes: AdminRoutes = ({ pool, outbox }) => [
  {
    method: 'GET',
    path: '/links/:shortCode/history',
    handler: withQuery(historyQuery, async (query, parameter, ctx) => {
      const subject = addressedLink(ctx, parameter);
      if (subject.type === 'refused') return subject.reply;
      const page = await findLinkHistory(pool, outbox, { ...query, subject: subject.value });
      return page === null ? failure(404, messages.codeNotFound) : json(200, page);
    }),
  },
];
