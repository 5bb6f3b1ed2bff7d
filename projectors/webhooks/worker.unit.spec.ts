import { setImmediate as nextIteration } from 'node:timers/promises';
import { startCursor } from '../../ops/feed/cursor.js';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import { createLogger } from '../../ops/platform/logging.js';
import { within } from '../../ops/test/support/waiting.js';
import { exists, evolveWebhook, noWebhook } from '../../schemas/folds/webhook.js';
import { webhookCreated } from '../../schemas/testing/events.js';
import { startWorker, type WorkerDeps } from './worker.js';

const id = 'wh_1';

/** The rows of a webhook without deliveries and events, by the name of the query. */
const rows: Readonly<Record<string, readonly object[]>> = {
  'webhooks-cursor': [{ cursor: 'start' }],
  'webhooks-pending': [{ pending: 0 }],
};

/** The queries of a worker's start: cursor, resumption, due deliveries, pending ones. */
const queriesOfStart = 4;

describe('webhooks: a worker', () => {
  /** Starts a worker, and stops it while its nth query runs. */
  const stopDuringQuery = async (nth: number): Promise<void> => {
    const webhook = evolveWebhook(noWebhook, webhookCreated(id));
    if (!exists(webhook)) throw new Error('the webhook does not exist');
    let queries = 0;
    const stopped = deferred();
    const pool = {
      async query(query: string | { readonly name: string }) {
        queries += 1;
        const isNth = queries === nth;
        await nextIteration();
        if (isNth) void worker.stop().then(stopped.resolve);
        return { rows: typeof query === 'string' ? [] : (rows[query.name] ?? []) };
      },
    };
    const closed = deferred();
    const follower = {
      cursor: startCursor,
      next: () => closed.promise.then(() => []),
      seek: () => undefined,
      close: closed.resolve,
    };
    const feed = {
      encode: () => 'start',
      decode: () => Promise.resolve(startCursor),
      follow: () => follower,
    };
    const deps = { pool, feed, owner: 'owner', logger: createLogger('silent') };
    const lease = { id, webhook, generation: 0, isDue: false };
    const worker = startWorker(deps as unknown as WorkerDeps, lease);
    await within(5_000, 'the worker stops', stopped.promise);
  };

  for (let nth = 1; nth <= queriesOfStart; nth += 1) {
    it(`stops while query ${nth} of its start runs`, () => stopDuringQuery(nth));
  }
});
