import { messages } from '../../../schemas/http/errors.js';
import { historyQuery } from '../../../schemas/http/history.js';
import { shortCodePattern } from '../../../schemas/http/shorten.js';
import { withQuery, type AdminRoutes } from '../../http/operator-requests.js';
import { failure, json } from '../../http/reply.js';
import { findLinkHistory } from './link-history.js';

/** `GET /admin/links/:shortCode/history`. */
export const historyRoutes: AdminRoutes = ({ pool, outbox }) => [
  {
    method: 'GET',
    path: '/links/:shortCode/history',
    handler: withQuery(historyQuery, async (query, parameter) => {
      const subject = parameter('shortCode');
      const page = shortCodePattern.test(subject)
        ? await findLinkHistory(pool, outbox, { ...query, subject })
        : null;
      return page === null ? failure(404, messages.codeNotFound) : json(200, page);
    }),
  },
];
