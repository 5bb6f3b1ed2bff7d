import type { Outbox } from '../../ops/event-log/outbox/port.js';
import type { Feed } from '../../ops/feed/feed.js';
import { periodically } from '../../ops/platform/concurrency/periodic.js';
import { DependencyFault } from '../../ops/platform/errors.js';
import { createOutageLog, type Logger } from '../../ops/platform/logging.js';
import type { Gauges } from '../../ops/platform/metrics/figure.js';
import { newId } from '../../ops/platform/new-id.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import type { Sender } from '../../ops/webhooks/sender.js';
import { groupBy } from '../../ops/platform/collections.js';
import { createAttemptSlots } from './attempt-slots.js';
import { endLeases, renewLeases } from './leases.js';
import { deleteOldDeliveries, openStore, readAheadMs } from './store.js';
import { startWorker, type Worker } from './worker.js';

/** How often the lease is renewed (ms). */
const leaseMs = 1_000;
const hourMs = 3_600_000;
/** The age of the last renewal from which the health check reports that no lease was renewed (ms). */
const staleMs = 30_000;
/** How long an enabled webhook may wait for a process before the health check reports it (s). */
const maxWaitingSeconds = 60;
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
  /** Workers that are stopping. */
  const stopping = new Set<Promise<void>>();
  const loggedAt = new Map<string, number>();
  const store = openStore(pool, owner);
  const outage = createOutageLog(logger, 'a webhook cannot be delivered; trying again');
  const workerDeps = { ...deps, store, inSlot: createAttemptSlots(), outage };
  let leasedAt = performance.now();
  let unleased = 0;
  let waitingSeconds = 0;

  const logBehind = (id: string, worker: Worker): void => {
    const seconds = Math.round(worker.secondsBehind(Date.now()));
    if (seconds < behind.seconds) loggedAt.delete(id);
    else if (performance.now() - (loggedAt.get(id) ?? -Infinity) >= behind.everyMs) {
      loggedAt.set(id, performance.now());
      const { account } = worker.webhook;
      logger.warn({ webhook: id, account, seconds }, 'webhook is behind the log');
    }
  };

  /** Stops a worker without waiting for it: its successor has another lease. */
  const stopWorker = (id: string): void => {
    const stopped = workers.get(id)?.stop();
    workers.delete(id);
    loggedAt.delete(id);
    if (!stopped) return;
    stopping.add(stopped);
    void stopped.finally(() => stopping.delete(stopped));
  };

  const renew = async (): Promise<number> => {
    for (const [id, worker] of workers) if (worker.isDone()) stopWorker(id);
    const renewed = await renewLeases(pool, owner, [...workers.keys()]);
    leasedAt = performance.now();
    ({ unleased, waitingSeconds } = renewed);
    for (const id of renewed.released) stopWorker(id);
    for (const lease of renewed.taken) {
      stopWorker(lease.id);
      workers.set(lease.id, startWorker(workerDeps, lease));
    }
    for (const [id, worker] of workers) logBehind(id, worker);
    // There may be more.
    return renewed.taken.length;
  };

  const retryDue = async (): Promise<number> => {
    const busy = [...workers].flatMap(([id, worker]) => (worker.isRetrying() ? [id] : []));
    const due = groupBy(await store.readDue(busy), ({ webhook }) => webhook);
    const found = [...due].filter(([id]) => workers.has(id));
    for (const [id, deliveries] of found) workers.get(id)?.retry(deliveries);
    return found.length;
  };

  metrics.gauge({
    name: 'linklog_webhooks_leased',
    help: 'Webhooks that this process delivers',
    read: () => workers.size,
  });
  metrics.gauge({
    name: 'linklog_webhooks_unleased',
    help: 'Webhooks that are enabled and that no process delivers',
    shared: true,
    read: () => unleased,
  });
  metrics.gauge({
    name: 'linklog_webhook_seconds_behind',
    help: 'Age of the oldest event that a webhook of this process has not tried to deliver yet',
    read: () =>
      Math.max(0, ...[...workers.values()].map((worker) => worker.secondsBehind(Date.now()))),
  });

  const tasks = [
    { name: 'lease webhooks', everyMs: leaseMs, task: renew, factors: { idle: 1, busy: 1 } },
    { name: 'retry deliveries of webhooks', everyMs: readAheadMs, task: retryDue },
    {
      name: 'delete old deliveries',
      everyMs: hourMs,
      task: () => deleteOldDeliveries(pool),
    },
  ].map((task) => periodically({ ...task, logger }));

  return {
    /** @throws DependencyFault if no lease could be renewed, or a webhook waits for a process */
    check(): Promise<void> {
      const isStale = performance.now() - leasedAt >= staleMs;
      if (!isStale && waitingSeconds <= maxWaitingSeconds) return Promise.resolve();
      const [code, message] = isStale
        ? ['WEBHOOKS_STALLED', 'webhooks are not delivered']
        : ['WEBHOOKS_UNLEASED', 'no process delivers some webhooks'];
      return Promise.reject(new DependencyFault(code, message, 'degraded'));
    },
    async stop(): Promise<void> {
      await Promise.all(tasks.map((task) => task.stop()));
      for (const id of workers.keys()) stopWorker(id);
      await Promise.all(stopping);
      // Otherwise the leases end in 7 s.
      await endLeases(pool, owner).catch((err: unknown) => {
        logger.debug({ err }, 'the leases of webhooks could not be released');
      });
    },
  };
};
