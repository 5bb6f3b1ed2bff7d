import type { AdminHandlers } from '../http/operator-requests.js';
import { failure, json } from '../http/reply.js';
import { listChanges, readChangesCursor } from './changes.js';

/** The changes of accounts and the platform, with their actors. */
export const changeHandlers = (({ pool }) => ({
  async listChanges({ query: { after, limit } }) {
    const cursor = after === undefined ? null : readChangesCursor(after);
    if (after !== undefined && cursor === null) {
      return failure(400, 'after must be the next of a page');
    }
    return json(200, await listChanges(pool, cursor, limit));
  },
})) satisfies AdminHandlers;
