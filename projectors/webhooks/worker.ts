import { setTimeout as sleep } from 'node:timers/promises';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import type { Feed, Follower } from '../../ops/feed/feed.js';
import { decideOne } from '../../ops/ledger/decide.js';
import { webhooks } from '../../ops/ledger/webhooks.js';
import { concurrently, WakeUp } from '../../ops/platform/concurrency/deferred.js';
import type { Logger, OutageLog } from '../../ops/platform/logging.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { maxLinks, type Span, type Tracer } from '../../ops/platform/tracing.js';
import {
  isDelivered,
  webhookFilter,
  type AttemptOutcome,
  type Sender,
} from '../../ops/webhooks/sender.js';
import { ownActors } from '../../schemas/decision.js';
import type { AttemptSlots } from './attempt-slots.js';
import { disableDecider } from './command.js';
import { deliveryLimits, groupEvents, hasVisits, timeOfFirst } from './grouping.js';
import type { Leased } from './leases.js';
import { disableAfterMs, nextAttemptAt } from './schedule.js';
import { LeaseLost, type DeliveryStore, type DueDelivery } from './store.js';

/** Deliveries that may wait for a retry before the cursor stops. */
const maxPending = 1_000;
/** The shortest interval of deliveries with visits, unless a batch is full (ms). */
const visitsMs = 1_000;
/** How often an idle worker stores its cursor (ms, ± 50 %), so that a successor reads less. */
const idleMs = 60_000;
/** How long a worker waits for events. It ends at a full second, so that one statement stores many cursors. */
const nextIdleMs = (): number => {
  const ms = idleMs * (0.5 + Math.random());
  return ms - ((performance.now() + ms) % 1_000);
};
const concurrentRetries = 4;
const failurePauseMs = 5_000;

const gone = 410;

const reasons = {
  gone: 'The receiver responded with 410',
  failing: 'No delivery succeeded for 5 days',
  foreign: 'The position of this webhook belongs to another log. Replay from a point of this log',
};

type TracedEvent = Readonly<{ traceparent?: string }>;

/** The requests of the first events in a body, which is an event or an array of events. */
const requestsIn = (body: string): readonly string[] => {
  // Avoids parsing: visits have no traces.
  if (!body.includes('"traceparent":')) return [];
  const events = [JSON.parse(body) as TracedEvent | readonly TracedEvent[]].flat();
  return [...new Set(events.flatMap(({ traceparent }) => traceparent ?? []))].slice(0, maxLinks);
};

/** Starts the span of an attempt. It continues the trace of the first event. */
const startDeliverySpan = (
  tracer: Tracer,
  requests: readonly string[],
  earlierAttempts: number,
): Span => {
  const [first = null, ...others] = requests;
  return tracer.start({
    name: 'POST',
    kind: 'client',
    parent: first,
    links: others,
    attributes: {
      'http.request.method': 'POST',
      ...(earlierAttempts > 0 && { 'http.request.resend_count': earlierAttempts }),
    },
  });
};

const endDeliverySpan = (span: Span | null, { attempt }: AttemptOutcome): void => {
  const { status } = attempt;
  span?.end({
    attributes: status === null ? {} : { 'http.response.status_code': status },
    failure: isDelivered(attempt) ? null : String(status ?? 'no_response'),
  });
};

export interface WorkerDeps {
  readonly pool: Pool;
  readonly outbox: Outbox;
  readonly feed: Feed;
  readonly sender: Sender;
  readonly store: DeliveryStore;
  readonly inSlot: AttemptSlots;
  readonly outage: Pick<OutageLog, 'failed'>;
  readonly logger: Logger;
}

/** Delivers the events of one leased webhook until `stop`, or until its lease is lost. */
export const startWorker = (deps: WorkerDeps, leased: Leased) => {
  const { pool, outbox, feed, sender, store, inSlot, outage, logger } = deps;
  const { id, webhook, generation } = leased;
  const lease = { id, generation };
  const stopping = new AbortController();
  const { signal } = stopping;
  /** Wakes the worker when fewer deliveries are pending. */
  const room = new WakeUp();
  let { pending, isFailing } = leased;
  let retrying: Promise<void> | null = null;
  /** The record time of the oldest event that has no attempt yet (ms); `null` if there is none. */
  let oldest: number | null = null;

  const disable = async (reason: string): Promise<void> => {
    const metadata = { actor: ownActors.system, requestId: null };
    const command = { type: 'DisableWebhook', subject: id, data: { reason }, metadata } as const;
    await decideOne({ pool, outbox }, webhooks, disableDecider, command);
    logger.warn({ webhook: id, account: webhook.account, reason }, 'webhook was disabled');
    stopping.abort();
  };

  const record = async (
    { id: delivery, attempts }: Pick<DueDelivery, 'id' | 'attempts'>,
    { attempt, retryAfter }: AttemptOutcome,
  ): Promise<void> => {
    const now = new Date();
    const isGone = attempt.status === gone;
    const next =
      isDelivered(attempt) || isGone
        ? null
        : nextAttemptAt(attempts + 1, now, retryAfter, Math.random());
    const status = isDelivered(attempt) ? 'delivered' : next ? 'pending' : 'failed';
    const recorded = { ...lease, delivery, attempt, status, nextAttemptAt: next } as const;
    const { failingSince } = await store.record(recorded);
    isFailing = failingSince !== null;
    if (!next) {
      pending -= 1;
      room.wake();
    }
    if (isGone) await disable(reasons.gone);
    else if (failingSince && now.getTime() - failingSince.getTime() >= disableAfterMs) {
      await disable(reasons.failing);
    }
  };

  const send = async ({
    id: delivery,
    body,
    attempts,
  }: Pick<DueDelivery, 'id' | 'body' | 'attempts'>): Promise<AttemptOutcome> => {
    signal.throwIfAborted();
    await store.requireUnchanged(lease);
    const requests = requestsIn(body);
    const span = pool.tracer && startDeliverySpan(pool.tracer, requests, attempts);
    const traceparent = span?.traceparent ?? requests[0];
    const outcome = await sender.send(webhook, delivery, body, { signal, traceparent });
    endDeliverySpan(span, outcome);
    return outcome;
  };

  const attempt = async (
    delivery: Pick<DueDelivery, 'id' | 'body' | 'attempts'>,
  ): Promise<void> => {
    const outcome = await inSlot(isFailing, () => send(delivery));
    // A cancelled attempt says nothing about the receiver. The delivery stays pending.
    signal.throwIfAborted();
    await record(delivery, outcome);
  };

  const deliver = async (follower: Follower): Promise<void> => {
    let visitsAt = -Infinity;
    let saved = feed.encode(follower.cursor);
    for (;;) {
      signal.throwIfAborted();
      if (pending >= maxPending) {
        await room.sleep();
        continue;
      }
      const before = follower.cursor;
      let found = await follower.next(nextIdleMs());
      // Visits are collected for a second.
      const waitMs = visitsAt + visitsMs - performance.now();
      if (waitMs > 0 && hasVisits(found) && found.length < deliveryLimits.events) {
        await sleep(waitMs, undefined, { signal });
        follower.seek(before);
        found = await follower.next(0);
      }
      signal.throwIfAborted();
      const cursor = feed.encode(follower.cursor);
      if (cursor === saved) continue;
      // The webhook's own creation is the start of its feed.
      const events = found.filter(
        ({ subject, type }) => subject !== id || !type.startsWith('linklog.WebhookCreated.'),
      );
      oldest = timeOfFirst(events);
      const deliveries = groupEvents(events);
      pending = deliveries.length + (await store.save({ ...lease, cursor, deliveries })).pending;
      saved = cursor;
      if (hasVisits(events)) visitsAt = performance.now();
      for (const delivery of deliveries) await attempt({ ...delivery, attempts: 0 });
      oldest = null;
    }
  };

  const run = async (): Promise<void> => {
    const cursor = await feed.decode(leased.cursor);
    if (typeof cursor === 'string') {
      await store.stop(lease, reasons.foreign);
      logger.warn({ webhook: id, account: webhook.account }, reasons.foreign);
      return;
    }
    // A signal that was aborted before has no event to end the follower with.
    signal.throwIfAborted();
    const follower = feed.follow(webhookFilter(webhook), cursor, deliveryLimits);
    signal.addEventListener('abort', () => {
      follower.close();
      room.wake();
    });
    try {
      for (const delivery of leased.unattempted) await attempt({ ...delivery, attempts: 0 });
      await deliver(follower);
    } finally {
      follower.close();
    }
  };

  /** @throws unless the worker was stopped, or lost its lease */
  const end = (error: unknown): void => {
    if (error instanceof LeaseLost) stopping.abort();
    if (!signal.aborted) throw error;
  };
  const logFailure = (err: unknown): void => {
    outage.failed(err, id);
  };
  let isDone = false;

  // After the pause, another lease starts another worker.
  const done = run()
    .catch(end)
    .catch((error: unknown) => {
      logFailure(error);
      // `stop` aborts the pause, which is no failure.
      return sleep(failurePauseMs, undefined, { signal }).catch(() => undefined);
    })
    .finally(() => {
      isDone = true;
    });

  return {
    webhook,
    /** Attempts deliveries at their times. Those of a failure stay due. */
    retry(deliveries: readonly DueDelivery[]): void {
      const options = { concurrency: concurrentRetries, signal };
      retrying = concurrently(deliveries, options, async (delivery, ending) => {
        await sleep(delivery.dueInMs, undefined, { signal: ending });
        await attempt(delivery);
      })
        .catch(end)
        .catch(logFailure)
        .finally(() => {
          retrying = null;
        });
    },
    isRetrying: () => retrying !== null,
    /** How long the oldest event waits for its first attempt (s). */
    secondsBehind: (now: number): number => (oldest === null ? 0 : (now - oldest) / 1_000),
    /** Cancels attempts in flight, which are repeated later. */
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all([done, retrying]);
    },
    isDone: () => isDone,
  };
};

export type Worker = ReturnType<typeof startWorker>;
