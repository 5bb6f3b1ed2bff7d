import { setImmediate as nextIteration } from 'node:timers/promises';
import { startCursor } from '../../ops/feed/cursor.js';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import { createLogger } from '../../ops/platform/logging.js';
import { within } from '../../ops/test/support/waiting.js';
import { exists, evolveWebhook } from '../../schemas/folds/webhook.js';
import { noSubject } from '../../schemas/folds/subject-state.js';
import { webhookCreated } from '../../schemas/testing/events.js';
import { startWorker, type WorkerDeps } from './worker.js';

const id = 'wh_1';

describe('webhooks: a worker', () => {
  /** Starts a worker with so many pending deliveries. Returns it when it follows, or before. */
  const start = async (pending: number, isFollowing: boolean) => {
    const webhook = evolveWebhook(noSubject, webhookCreated(id));
    if (!exists(webhook)) throw new Error('the webhook does not exist');
    const closed = deferred();
    const followed = deferred();
    const feed = {
      encode: () => 'start',
      decode: () => nextIteration(startCursor),
      follow() {
        followed.resolve();
        const next = () => closed.promise.then(() => []);
        return { cursor: startCursor, next, seek: () => undefined, close: closed.resolve };
      },
    };
    const state = { cursor: 'start', pending, isFailing: false, unattempted: [] };
    const deps = { feed, logger: createLogger('silent') };
    const lease = { id, webhook, generation: 0, ...state };
    const worker = startWorker(deps as unknown as WorkerDeps, lease);
    if (isFollowing) await followed.promise.then(() => nextIteration());
    return worker;
  };

  for (const [what, pending, isFollowing] of [
    ['while it reads its cursor', 0, false],
    ['while it waits for events', 0, true],
    ['while it waits for the end of pending deliveries', 1_000, true],
  ] as const) {
    it(`stops ${what}`, async () => {
      const worker = await start(pending, isFollowing);
      await within(5_000, 'the worker stops', worker.stop());
    });
  }
});
