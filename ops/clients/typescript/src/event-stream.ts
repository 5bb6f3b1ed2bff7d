import { messagesOf, type Message } from './lines.js';
import { operations, type Schemas } from './operations.js';
import type { CallOptions } from './options.js';
import { isTransient, pause, retryDelayMs } from './retry.js';
import type { Transport } from './transport.js';

export type CloudEvent = Schemas['CloudEvent'];

/** The parameters of pages and streams of events. */
export interface EventsQuery extends Omit<Schemas['GetEventsQuery'], 'types'> {
  /** Names of event types, such as `LinkCreated`. Default: all but `LinkVisited`. */
  readonly types?: readonly string[] | string;
}

export type StreamQuery = Omit<EventsQuery, 'limit'>;

export interface StreamOptions extends CallOptions {
  /** Reports each failure after which the stream connects again. */
  readonly onRetry?: ((error: unknown) => void) | undefined;
  /** The maximum time without bytes (ms); the API sends some every 15 s. Default: 45,000. */
  readonly idleTimeoutMs?: number | undefined;
}

/** The events that are remembered: 1 to 2 MB. */
const maxRemembered = 10_000;
const maxDelayMs = 60_000;

/** Drops repeats among the last events. */
export class Deduplicator {
  readonly #seen = new Set<string>();

  isRepeat({ source, id }: Pick<CloudEvent, 'source' | 'id'>): boolean {
    const key = JSON.stringify([source, id]);
    if (this.#seen.has(key)) return true;
    this.#seen.add(key);
    const [oldest] = this.#seen;
    if (this.#seen.size > maxRemembered && oldest !== undefined) this.#seen.delete(oldest);
    return false;
  }
}

/**
 * The events of the account, in the order of the log. It connects again after every failure, at the cursor of the last
 * event. It ends with an error for 401, 403 and 409, for an invalid query, and when its signal is aborted.
 */
export class EventStream implements AsyncIterable<CloudEvent> {
  readonly #deduplicator = new Deduplicator();
  #cursor: string | null = null;

  constructor(
    private readonly transport: Transport,
    private readonly query: StreamQuery = {},
    private readonly options: StreamOptions = {},
  ) {}

  /**
   * The cursor after the last event; `null` before the first one. A program that stores it together with the effect of the
   * event, and starts again with `after`, misses no event.
   */
  get cursor(): string | null {
    return this.#cursor;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<CloudEvent, void, void> {
    let failures = 0;
    let wasConnected = false;
    for (;;) {
      let failure: unknown = null;
      try {
        for await (const { id, event, data } of await this.#connect()) {
          wasConnected = true;
          failures = 0;
          const change = event === 'message' ? (JSON.parse(data) as CloudEvent) : null;
          if (id !== '') this.#cursor = id;
          if (change && !this.#deduplicator.isRepeat(change)) yield change;
        }
      } catch (error) {
        // Before the first message, other client errors are those of a wrong address.
        const mayPass = (status: number): boolean =>
          ![400, 401, 403, 409].includes(status) &&
          (wasConnected || status >= 500 || [408, 429].includes(status));
        // A proxy may damage a message.
        if (!(error instanceof SyntaxError) && !isTransient(error, mayPass)) throw error;
        failure = error;
      }
      // The API ends a stream after an hour.
      if (failure !== null) this.options.onRetry?.(failure);
      const delayMs = retryDelayMs(failure, failures) ?? maxDelayMs;
      await pause(Math.min(delayMs, maxDelayMs), this.options.signal);
      failures += 1;
    }
  }

  async #connect(): Promise<AsyncIterable<Message>> {
    const { after = 'now', ...query } = this.query;
    const { idleTimeoutMs = 45_000, ...options } = this.options;
    const call = { operation: operations.getEvents, options, maxRetries: 0 } as const;
    if (this.#cursor === null && after === 'now') {
      // A stream that fails before its first event would continue at a later `now`.
      const first = { ...query, after, limit: 1 };
      const page = await this.transport.json<Schemas['EventPage']>({ ...call, query: first });
      this.#cursor = page.next;
    }
    const position = { ...query, after: this.#cursor ?? after };
    return messagesOf(
      this.transport.stream({ ...call, query: position }, 'text/event-stream', idleTimeoutMs),
    );
  }
}
