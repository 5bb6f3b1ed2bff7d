import type { Context } from 'koa';
import { linksWithCodes } from '../../ops/ledger/codes.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { type Cursor, startCursor } from '../../ops/feed/cursor.js';
import type { Feed, CursorFault } from '../../ops/feed/feed.js';
import type { FeedEvent, FeedFilter } from '../../ops/feed/filter.js';
import { HistoryIncomplete } from '../../ops/feed/stored-events.js';
import { defaultFeedNames, typesOfNames } from '../../schemas/feed.js';
import { messages } from '../../schemas/http/errors.js';
import { type EventsQuery, cursorMalformed } from '../../schemas/http/events.js';
import { maxPageBytes } from '../../schemas/http/paging.js';
import { filteredDomain, subjectOf } from '../../schemas/link-subject.js';
import { callerIn, type Caller } from '../admission/live-callers.js';
import type { RequestState } from '../http/app.js';
import { failure, json, unavailable, type Reply } from '../http/reply.js';
import { refusedWith, type Read, type Refused } from '../http/requests.js';
import type { V2Handler } from '../http/row-handlers.js';
import { namedDomain } from '../links/addressed-link.js';
import { maxStreams, type StreamSlots, type StreamRequest, type Streams } from './streams.js';

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

export interface EventsDeps {
  readonly pool: Pool;
  readonly feed: Feed;
  readonly streams: Streams;
  readonly slots: StreamSlots;
}

/** The holder of a stream: a key, or an operator, whose streams are not limited. */
interface Holder {
  /** `null` if the key has too many streams. */
  readonly take: () => Promise<StreamRequest['slot'] | null>;
}

/** How long a page searches visits of the account among those of others (ms). */
const searchMs = 1_000;

/** An empty page at the end repeats its cursor, unless it skipped more visits of others than this. */
const maxSkipped = 10_000;

const filterOf = async (
  pool: Pool,
  query: EventsQuery,
  account: string,
  state: RequestState,
): Promise<FeedFilter> => {
  const { types = defaultFeedNames, shortCode: code, domain: name = null } = query;
  const link = code === undefined ? [] : [{ domain: namedDomain(name, state), code }];
  const named = link.map((requested) => subjectOf(requested, state.ignoresCase));
  const [subject = null] = await linksWithCodes(pool, named);
  const domain = filteredDomain(name, state.defaultDomain);
  return { account, types: typesOfNames(types), subject, domain };
};

/** Responds with a page or, for `Accept: text/event-stream`, with a stream. */
export const createEventsReader = ({ pool, feed, streams }: EventsDeps) => {
  const page = async (filter: FeedFilter, after: Cursor, limit: number): Promise<Reply> => {
    const deadline = performance.now() + searchMs;
    const events: FeedEvent[] = [];
    let bytes = 0;
    let skipped = 0;
    let next = after;
    let atEnd = false;
    while (!atEnd && events.length < limit && bytes < maxPageBytes) {
      const rest = { events: limit - events.length, bytes: maxPageBytes - bytes };
      const portion = await feed.read(filter, next, rest);
      events.push(...portion.events);
      for (const { json: event } of portion.events) bytes += Buffer.byteLength(event);
      ({ next, atEnd } = portion);
      skipped += portion.skipped;
      if (performance.now() > deadline) break;
    }
    const isRepeated = events.length === 0 && atEnd && skipped < maxSkipped;
    const cursor = feed.encode(isRepeated ? after : next);
    return json(200, `{"events":[${events.map((event) => event.json).join()}],"next":"${cursor}"}`);
  };

  const stream = async (
    filter: FeedFilter,
    from: Cursor,
    holder: Holder,
    caller: Caller,
  ): Promise<Reply> => {
    // A history that is incomplete gets a 503, which a stream could not send later.
    await feed.requireHistory();
    const slot = await holder.take();
    if (slot === null) return failure(429, `At most ${maxStreams} streams a root key`);
    return {
      type: 'stream',
      status: 200,
      headers: {
        'Content-Type': 'text/event-stream; charset=utf-8',
        'Cache-Control': 'no-store, no-transform',
        'X-Accel-Buffering': 'no',
      },
      start(res) {
        streams.start({ filter, from, slot, caller }, res);
      },
      cancel() {
        streams.cancel({ filter, from, slot, caller });
      },
    };
  };

  return async (
    ctx: Context,
    query: EventsQuery,
    account: string,
    holder: Holder,
  ): Promise<Reply> => {
    const isStream =
      ctx.method === 'GET' && ctx.get('Accept').toLowerCase().includes('text/event-stream');
    const requested = query.after ?? (isStream ? 'now' : 'start');
    const lastEventId = ctx.get('Last-Event-ID');
    const after = await cursorOf(feed, isStream && lastEventId !== '' ? lastEventId : requested);
    if (after.type === 'refused') return after.reply;
    const filter = await filterOf(pool, query, account, ctx.state as RequestState);
    try {
      return isStream
        ? await stream(filter, after.value, holder, callerIn(ctx))
        : await page(filter, after.value, query.limit);
    } catch (error) {
      if (error instanceof HistoryIncomplete) return unavailable(messages.historyIncomplete, 30);
      throw error;
    }
  };
};

/** `GET /v2/events`. */
export const createEventsHandler = (deps: EventsDeps): V2Handler<'getEvents'> => {
  const respond = createEventsReader(deps);
  return ({ ctx, query, state }) => {
    const { account, rootId } = state.call.key;
    return respond(ctx, query, account, {
      async take() {
        const id = await deps.slots.take(rootId);
        return id === null ? null : { id, rootId };
      },
    });
  };
};
