import type { Outbox } from '../../ops/event-log/outbox/port.js';
import type { Feed } from '../../ops/feed/feed.js';
import { periodically } from '../../ops/platform/concurrency/periodic.js';
import { DependencyFault } from '../../ops/platform/errors.js';
import type { Logger } from '../../ops/platform/logging.js';
import type { Gauges } from '../../ops/platform/metrics/figure.js';
import { newId } from '../../ops/platform/new-id.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Sender } from '../../ops/webhooks/sender.js';
import { deleteOldDeliveries, leaseWebhooks, releaseLeases } from './store.js';
import { startWorker, type Worker } from './worker.js';

/** How often leases are renewed and due deliveries are found (ms). */
const leaseMs = 1_000;
const hourMs = 3_600_000;
/** The age of the last renewal from which the health check reports that no lease was renewed (ms). */
const staleMs = 30_000;
/** The delay from which a webhook that is behind is logged (s), and how often (ms). */
const behind = { seconds: 300, everyMs: 600_000 };

/** Delivers webhooks whose leases this process gets. */
export const startDeliverer = (deps: {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly feed: Feed;
  readonly sender: Sender;
  readonly metrics: Gauges;
  readonly logger: Logger;
}) => {
  const { pool, metrics, logger } = deps;
  const owner = newId();
  const workers = new Map<string, Worker>();
  const loggedAt = new Map<string, number>();
  let leasedAt = performance.now();

  const logBehind = (id: string, worker: Worker): void => {
    const seconds = Math.round(worker.secondsBehind(Date.now()));
    if (seconds < behind.seconds) loggedAt.delete(id);
    else if (performance.now() - (loggedAt.get(id) ?? -Infinity) >= behind.everyMs) {
      loggedAt.set(id, performance.now());
      const { account } = worker.webhook;
      logger.warn({ webhook: id, account, seconds }, 'webhook is behind the log');
    }
  };

  const renew = async (): Promise<number> => {
    const leased = new Map((await leaseWebhooks(pool, owner)).map((lease) => [lease.id, lease]));
    leasedAt = performance.now();
    for (const [id, worker] of workers) {
      const current = leased.get(id);
      const isCurrent =
        current?.webhook.sequence === worker.webhook.sequence &&
        current.generation === worker.generation;
      if (isCurrent && !worker.isDone()) continue;
      workers.delete(id);
      loggedAt.delete(id);
      await worker.stop();
    }
    for (const [id, lease] of leased) {
      const worker = workers.get(id) ?? startWorker({ ...deps, owner }, lease);
      workers.set(id, worker);
      if (lease.isDue) worker.attemptDue();
      logBehind(id, worker);
    }
    return 0;
  };

  metrics.gauge({
    name: 'linklog_webhooks_leased',
    help: 'Webhooks that this process delivers',
    read: () => workers.size,
  });
  metrics.gauge({
    name: 'linklog_webhook_seconds_behind',
    help: 'Age of the oldest event that a webhook of this process has not tried to deliver yet',
    read: () =>
      Math.max(0, ...[...workers.values()].map((worker) => worker.secondsBehind(Date.now()))),
  });

  const tasks = [
    { name: 'lease webhooks', everyMs: leaseMs, task: renew },
    {
      name: 'delete old deliveries',
      everyMs: hourMs,
      task: () => deleteOldDeliveries(pool),
    },
  ].map((task) => periodically({ ...task, logger }));

  return {
    /** @throws DependencyFault if no lease could be renewed */
    check(): Promise<void> {
      return performance.now() - leasedAt < staleMs
        ? Promise.resolve()
        : Promise.reject(
            new DependencyFault('WEBHOOKS_STALLED', 'webhooks are not delivered', 'degraded'),
          );
    },
    async stop(): Promise<void> {
      await Promise.all(tasks.map((task) => task.stop()));
      await Promise.all([...workers.values()].map((worker) => worker.stop()));
      // Otherwise the leases end in 10 s.
      await releaseLeases(pool, owner).catch((err: unknown) => {
        logger.debug({ err }, 'the leases of webhooks could not be released');
      });
    },
  };
};
