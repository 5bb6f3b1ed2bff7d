import { expect } from 'chai';
import { decodeCursor, encodeCursor } from '../../feed/cursor.js';
import type { FeedEvent } from '../support/feed-event.js';
import type { Bench } from './harness.js';

export interface EventPage {
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
