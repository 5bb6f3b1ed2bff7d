import { setTimeout as sleep } from 'node:timers/promises';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import type { Feed, Follower } from '../../ops/feed/feed.js';
import type { FeedEvent } from '../../ops/feed/filter.js';
import { decideOne } from '../../ops/ledger/decide.js';
import { webhooks } from '../../ops/ledger/webhooks.js';
import { concurrently, WakeUp } from '../../ops/platform/concurrency/deferred.js';
import { retry } from '../../ops/platform/concurrency/retry.js';
import { createOutageLog, type Logger } from '../../ops/platform/logging.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { maxLinks, type Span, type Tracer } from '../../ops/platform/tracing.js';
import {
  isDelivered,
  webhookFilter,
  type AttemptOutcome,
  type Sender,
} from '../../ops/webhooks/sender.js';
import { ownActors } from '../../schemas/decision.js';
import { disableDecider } from './command.js';
import { deliveryLimits, groupEvents, hasVisits, timeOfFirst } from './grouping.js';
import { disableAfterMs, nextAttemptAt } from './schedule.js';
import {
  countPending,
  LeaseLost,
  readCursor,
  readDue,
  recordAttempt,
  requireUnchanged,
  resumeDeliveries,
  saveDeliveries,
  stopWebhook,
  type DueDelivery,
  type Lease,
  type Leased,
} from './store.js';

/** Deliveries that may wait for a retry before the cursor stops. */
const maxPending = 1_000;
/** The shortest interval of deliveries with visits, unless a batch is full (ms). */
const visitsMs = 1_000;
/** How often an idle worker stores its cursor (ms), so that a successor reads less. */
const idleMs = 10_000;
const pendingPollMs = 1_000;
const concurrentRetries = 4;
const dueTogether = 20;
const pauses = { firstMs: 500, longestMs: 10_000 };

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
  /** The owner in the leases of this process. */
  readonly owner: string;
  readonly logger: Logger;
}

/** Delivers the events of one leased webhook until `stop`, or until its lease is lost. */
export const startWorker = (deps: WorkerDeps, { id, webhook, generation }: Leased) => {
  const { pool, outbox, feed, sender, owner, logger } = deps;
  const lease: Lease = { id, owner, generation };
  const stopping = new AbortController();
  const { signal } = stopping;
  const due = new WakeUp();
  /** The record time of the oldest event that has no attempt yet (ms); `null` if there is none. */
  let oldest: number | null = null;

  const disable = async (reason: string): Promise<void> => {
    const metadata = { actor: ownActors.system, requestId: null };
    const command = { type: 'DisableWebhook', subject: id, data: { reason }, metadata } as const;
    await decideOne({ pool, outbox }, webhooks, disableDecider, command);
    logger.warn({ webhook: id, account: webhook.account, reason }, 'webhook was disabled');
    // The next lease of this process does not include the webhook.
    stopping.abort();
  };

  const record = async (
    { id: delivery, attempts }: DueDelivery,
    { attempt, retryAfter }: AttemptOutcome,
  ): Promise<void> => {
    if (isDelivered(attempt)) {
      await recordAttempt(pool, lease, delivery, attempt, { status: 'delivered' });
      return;
    }
    const now = new Date();
    const next =
      attempt.status === gone ? null : nextAttemptAt(attempts + 1, now, retryAfter, Math.random());
    const failingSince = await recordAttempt(
      ...([pool, lease, delivery, attempt] as const),
      next ? { status: 'pending', nextAttemptAt: next } : { status: 'failed' },
    );
    if (attempt.status === gone) await disable(reasons.gone);
    else if (failingSince && now.getTime() - failingSince.getTime() >= disableAfterMs) {
      await disable(reasons.failing);
    }
  };

  const attempt = async (delivery: DueDelivery): Promise<void> => {
    await requireUnchanged(pool, lease, webhook);
    const requests = requestsIn(delivery.body);
    const span = pool.tracer && startDeliverySpan(pool.tracer, requests, delivery.attempts);
    const traceparent = span?.traceparent ?? requests[0];
    const outcome = await sender.send(webhook, delivery.id, delivery.body, { signal, traceparent });
    endDeliverySpan(span, outcome);
    // A cancelled attempt says nothing about the receiver. The delivery stays pending.
    if (signal.aborted) return;
    await record(delivery, outcome);
  };

  /** Attempts all deliveries that are due. */
  const attemptDue = async (ending: AbortSignal): Promise<void> => {
    for (;;) {
      const deliveries = await readDue(pool, id, dueTogether);
      if (deliveries.length === 0) return;
      const options = { concurrency: concurrentRetries, signal: ending };
      await concurrently(deliveries, options, attempt);
    }
  };

  const retryFailed = async (ending: AbortSignal): Promise<void> => {
    for (;;) {
      await due.sleep();
      ending.throwIfAborted();
      await attemptDue(ending);
    }
  };

  /** The next events. Visits are collected for a second. */
  const nextEvents = async (
    follower: Follower,
    visitsAt: number,
    ending: AbortSignal,
  ): Promise<readonly FeedEvent[]> => {
    const before = follower.cursor;
    const events = await follower.next(idleMs);
    const waitMs = visitsAt + visitsMs - performance.now();
    if (waitMs <= 0 || !hasVisits(events) || events.length === deliveryLimits.events) return events;
    await sleep(waitMs, undefined, { signal: ending });
    follower.seek(before);
    return follower.next(0);
  };

  const deliver = async (follower: Follower, ending: AbortSignal): Promise<void> => {
    let visitsAt = -Infinity;
    let saved = feed.encode(follower.cursor);
    let pending = await countPending(pool, id);
    for (;;) {
      ending.throwIfAborted();
      if (pending >= maxPending) {
        await sleep(pendingPollMs, undefined, { signal: ending });
        pending = await countPending(pool, id);
        continue;
      }
      const found = await nextEvents(follower, visitsAt, ending);
      ending.throwIfAborted();
      const cursor = feed.encode(follower.cursor);
      if (cursor === saved) continue;
      // The webhook's own creation is the start of its feed.
      const events = found.filter(
        ({ subject, type }) => subject !== id || !type.startsWith('linklog.WebhookCreated.'),
      );
      oldest = timeOfFirst(events);
      const deliveries = groupEvents(events);
      pending = await saveDeliveries(pool, lease, cursor, deliveries);
      saved = cursor;
      if (hasVisits(events)) visitsAt = performance.now();
      for (const delivery of deliveries) await attempt({ ...delivery, attempts: 0 });
      oldest = null;
    }
  };

  const run = async (): Promise<void> => {
    const cursor = await feed.decode(await readCursor(pool, lease));
    if (typeof cursor === 'string') {
      await stopWebhook(pool, lease, reasons.foreign);
      logger.warn({ webhook: id, account: webhook.account }, reasons.foreign);
      return;
    }
    await resumeDeliveries(pool, lease);
    await attemptDue(signal);
    // A signal that was aborted before has no event to end the parts with.
    signal.throwIfAborted();
    const failed = new AbortController();
    const ending = AbortSignal.any([signal, failed.signal]);
    const follower = feed.follow(webhookFilter(webhook), cursor, deliveryLimits);
    ending.addEventListener('abort', () => {
      follower.close();
      due.wake();
    });
    const parts = [deliver(follower, ending), retryFailed(ending)];
    try {
      await Promise.all(parts);
    } finally {
      failed.abort();
      await Promise.allSettled(parts);
    }
  };

  let isDone = false;

  const done = retry(run, {
    pauses,
    signal,
    isRetryable: (error) => !(error instanceof LeaseLost),
    onFailure: createOutageLog(
      logger.child({ webhook: id }),
      'a webhook cannot be delivered; trying again',
    ).failed,
  })
    .catch((error: unknown) => {
      // The next lease of this process starts another worker.
      if (!signal.aborted && !(error instanceof LeaseLost)) throw error;
    })
    .finally(() => {
      isDone = true;
    });

  return {
    webhook,
    generation,
    /** Attempts deliveries that are due. */
    attemptDue(): void {
      due.wake();
    },
    /** How long the oldest event waits for its first attempt (s). */
    secondsBehind: (now: number): number => (oldest === null ? 0 : (now - oldest) / 1_000),
    /** Cancels attempts in flight, which are repeated later. */
    async stop(): Promise<void> {
      stopping.abort();
      await done;
    },
    isDone: () => isDone,
  };
};

export type Worker = ReturnType<typeof startWorker>;
