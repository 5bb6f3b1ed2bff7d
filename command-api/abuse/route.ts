import type { AdminHandlers } from '../http/operator-requests.js';
import { json } from '../http/reply.js';
import { incompleteStats } from '../statistics/route.js';
import { findAbuse } from './report.js';

/** What may be abuse, across accounts. */
export const abuseHandlers = (({ pool, outbox, shortUrlHost }) => ({
  async getAbuse({ query }) {
    const report = await findAbuse(pool, outbox, { ...query, now: new Date() }, shortUrlHost);
    return report === 'incomplete' ? incompleteStats : json(200, report);
  },
})) satisfies AdminHandlers;
