import { startCursor, type Cursor } from '../../ops/feed/cursor.js';
import type { CursorFault, Feed } from '../../ops/feed/feed.js';
import { messages } from '../../schemas/http/errors.js';
import { cursorMalformed } from '../../schemas/http/events.js';
import { failure } from '../http/reply.js';
import { refusedWith, type Read, type Refused } from '../http/requests.js';

const refusals: Readonly<Record<CursorFault, Refused>> = {
  malformed: refusedWith(failure(400, cursorMalformed)),
  foreign: refusedWith(failure(409, messages.cursorForeign)),
};

/** Reads `start`, `now` or a cursor. */
export const cursorOf = async (feed: Feed, after: string): Promise<Read<Cursor>> => {
  if (after === 'start') return { type: 'read', value: startCursor };
  if (after === 'now') return { type: 'read', value: await feed.ends() };
  const cursor = await feed.decode(after);
  return typeof cursor === 'string' ? refusals[cursor] : { type: 'read', value: cursor };
};
