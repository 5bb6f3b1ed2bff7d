import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { feedEvent } from '../../../schemas/http/events.js';
import type { Message } from '../../clients/typescript/src/lines.js';
import { retry, type Pauses } from '../../platform/concurrency/retry.js';
import type { AdminClient, EventsQuery } from './client.js';
import { isTemporary, messageOf } from './errors.js';

export type FeedEvent = z.output<typeof feedEvent>;

interface FollowOptions {
  /** Finds the service, whose address may change with a restart. */
  readonly connect: () => Promise<Pick<AdminClient, 'readEvents' | 'openEvents'>>;
  readonly query: EventsQuery;
  /** Receives one notice for each interruption. */
  readonly report: (notice: string) => void;
  readonly signal: AbortSignal;
  /** The pause before a stream that ended is opened again (ms): its `retry`. */
  readonly reopenMs?: number;
  /** The pauses between failed attempts to open it. */
  readonly pauses?: Pauses;
}

/** What follows in the feed: an event, or only a new cursor. */
interface Step {
  readonly event: FeedEvent | null;
  /** The cursor after the event. */
  readonly cursor: string;
}

/**
 * Follows the events of an account over any number of connections. Only the first one must succeed.
 *
 * @throws CliError; an AbortError or the signal's reason
 */
export async function* followEvents(options: FollowOptions): AsyncGenerator<Step> {
  const { connect, query, report, signal, reopenMs = 2_000 } = options;
  const { pauses = { firstMs: 1_000, longestMs: 30_000 } } = options;
  let { after } = query;
  if (after === 'now') {
    // `now` becomes a cursor, because the first connection may be lost before its first message.
    const { events, next } = await (await connect()).readEvents(query, 1);
    after = next;
    for (const event of [...events, null]) yield { event, cursor: next };
  }

  let isReported = false;
  const reportOnce = (error: unknown): void => {
    if (!isReported) report(`${messageOf(error)}; trying again`);
    isReported = true;
  };
  const open = async (): Promise<AsyncIterable<Message>> =>
    (await connect()).openEvents({ ...query, after }, signal);

  let messages = await open();
  for (;;) {
    try {
      for await (const { event: type, id, data } of messages) {
        isReported = false;
        after = id;
        const event = type === 'message' ? feedEvent.parse(JSON.parse(data)) : null;
        yield { event, cursor: id };
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!isTemporary(error)) throw error;
      reportOnce(error);
    }
    await sleep(reopenMs, undefined, { signal });
    const attempts = { pauses, signal, isRetryable: isTemporary, onFailure: reportOnce };
    messages = await retry(open, attempts);
  }
}
