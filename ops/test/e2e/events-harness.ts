import { expect } from 'chai';
import { decodeCursor, encodeCursor } from '../../feed/cursor.js';
import { openEventStream, type EventStream } from '../support/event-stream.js';
import type { FeedEvent } from '../support/feed-event.js';
import type { IssuedKey } from '../support/product.js';
import { eventually } from '../support/waiting.js';
import type { Bench } from './harness.js';

interface EventPage {
  readonly events: readonly FeedEvent[];
  readonly next: string;
}

/** Reads pages of the feed. */
export const eventPages = (bench: Bench) => {
  const page = async (key: string, query = ''): Promise<EventPage> => {
    const response = await bench.api(`/v2/events?${query}`, key);
    expect(response.status, response.text).to.equal(200);
    return response.json() as EventPage;
  };
  return {
    page,
    /** All events after a cursor, page by page. */
    readAll: async (key: string, query = '', after = 'start'): Promise<readonly FeedEvent[]> => {
      const events: FeedEvent[] = [];
      for (let cursor = after; ;) {
        const { events: found, next } = await page(key, `${query}&after=${cursor}`);
        if (found.length === 0 && next === cursor) return events;
        events.push(...found);
        cursor = next;
      }
    },
    /** The current end of the log. */
    end: async (key: string): Promise<string> => (await page(key, 'after=now')).next,
  };
};

/** Cursors that are no cursors of the log, made from one of the log. */
export const foreignCursors = (cursor: string) => {
  const decoded = decodeCursor(cursor);
  if (!decoded) throw new Error(`not a cursor: ${cursor}`);
  const beyond = decoded.cursor.map((offset, index) => (index === 0 ? offset + 1_000 : offset));
  return {
    ofAnotherLog: encodeCursor('0123456789abcdef', decoded.cursor),
    beyondTheEnd: encodeCursor(decoded.identity, beyond),
  };
};

/** Opens streams of a running product, which are closed after each test. */
export const eventStreams = (bench: Bench) => {
  const opened: EventStream[] = [];
  afterEach(() => {
    for (const stream of opened.splice(0)) stream.close();
  });

  const openUrl = async (
    url: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<EventStream> => {
    const stream = await openEventStream(url, headers);
    opened.push(stream);
    return stream;
  };

  /** The response may be an error. */
  const request = (
    { key }: Pick<IssuedKey, 'key'>,
    query = '',
    headers: Readonly<Record<string, string>> = {},
    api = bench.product.api,
  ): Promise<EventStream> =>
    openUrl(`${api}/v2/events?${query}`, { Authorization: `Bearer ${key}`, ...headers });

  const open = async (...args: Parameters<typeof request>): Promise<EventStream> => {
    const stream = await request(...args);
    expect(stream.status).to.equal(200);
    return stream;
  };

  return { openUrl, request, open };
};

export const expectEnd = (stream: EventStream): Promise<void> =>
  eventually('the stream ends', () => stream.isEnded());

export const subjectsOf = (stream: EventStream): readonly string[] =>
  stream.events().map(({ subject }) => subject);
