import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { FeedEvent } from './feed-event.js';
import { eventually } from './waiting.js';

/** A message of a stream of server-sent events. */
interface StreamMessage {
  readonly id: string;
  /** `null` without this field. */
  readonly event: string | null;
  readonly data: string;
}

const fieldOf = (message: string, name: string): string | null =>
  new RegExp(`^${name}: (.*)$`, 'm').exec(message)?.[1] ?? null;

/**
 * A client of `GET /v2/events` with `Accept: text/event-stream`, on a connection of its own. Resolves with the head of
 * the response.
 */
export const openEventStream = async (url: string, headers: Readonly<Record<string, string>>) => {
  const outgoing = request(url, {
    headers: { Accept: 'text/event-stream', ...headers },
    agent: false,
  });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  let text = '';
  let isEnded = false;
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  // A connection that the server closes counts as an end.
  outgoing.on('error', () => undefined);
  response.on('error', () => undefined);
  response.on('close', () => {
    isEnded = true;
  });
  const messages = (): readonly StreamMessage[] =>
    text
      .split('\n\n')
      .slice(0, -1)
      .flatMap((message) => {
        const [id, data] = [fieldOf(message, 'id'), fieldOf(message, 'data')];
        return id === null || data === null ? [] : { id, data, event: fieldOf(message, 'event') };
      });
  const events = (): readonly FeedEvent[] =>
    messages()
      .filter(({ event }) => event === null)
      .map(({ data }) => JSON.parse(data) as FeedEvent);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    /** Everything that was received. */
    text: () => text,
    messages,
    /** The events of the messages without an `event:` field. */
    events,
    lastEventId: () => messages().at(-1)?.id ?? '',
    isEnded: () => isEnded,
    /** Waits until the stream has sent this number of events in all. */
    async expectEvents(count: number): Promise<readonly FeedEvent[]> {
      await eventually(
        `the stream sends ${count} events`,
        () => events().length >= count || isEnded,
      );
      const received = events();
      if (received.length !== count)
        throw new Error(`the stream sent ${received.length} events, expected ${count}:\n${text}`);
      return received;
    },
    close(): void {
      outgoing.destroy();
    },
  };
};

export type EventStream = Awaited<ReturnType<typeof openEventStream>>;
