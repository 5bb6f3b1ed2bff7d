import { randomInt } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Cursor } from '../../ops/feed/cursor.js';
import type { Feed, Follower } from '../../ops/feed/feed.js';
import type { FeedEvent, FeedFilter } from '../../ops/feed/filter.js';
import { periodically } from '../../ops/platform/concurrency/periodic.js';
import type { Logger } from '../../ops/platform/logging.js';
import { type Pool, transaction } from '../../ops/platform/postgres/pool.js';
import { writePart } from '../http/reply.js';
import { checkMs, findLiveCallers, type Caller } from '../admission/live-callers.js';
import { advisoryLocks } from '../../ops/advisory-locks.js';
import { newId } from '../../ops/platform/new-id.js';

/** Streams of a root key and its descendants, on all nodes. */
export const maxStreams = 10;

/** How long a slot stays taken after its process was killed (s). */
const leaseSeconds = 30;

/** Limits the streams of a root key with leases in PostgreSQL. */
export const createStreamSlots = (pool: Pool) => ({
  /** Takes a slot. Returns its ID; `null` if all are taken. */
  take: (rootId: string): Promise<string | null> =>
    transaction(pool, async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock($1, hashtext($2))', [
        ...[advisoryLocks.streams, rootId],
      ]);
      const { rows } = await tx.query<{ id: string }>(
        `WITH expired AS (
           DELETE FROM delivery.streams WHERE root_id = $2 AND leased_until <= clock_timestamp()
         )
         INSERT INTO delivery.streams (id, root_id, leased_until)
         SELECT $1, $2, clock_timestamp() + $3 * interval '1 second'
         WHERE (SELECT count(*) FROM delivery.streams
                WHERE root_id = $2 AND leased_until > clock_timestamp()) < $4
         RETURNING id`,
        [newId(), rootId, leaseSeconds, maxStreams],
      );
      return rows[0]?.id ?? null;
    }),

  /** Renews slots. A crash of PostgreSQL empties the table, so they are inserted again. */
  async renew(slots: readonly { readonly id: string; readonly rootId: string }[]): Promise<void> {
    await pool.query({
      name: 'streams-renew',
      text: `INSERT INTO delivery.streams (id, root_id, leased_until)
             SELECT id, root_id, clock_timestamp() + $3 * interval '1 second'
             FROM unnest($1::uuid[], $2::text[]) AS slots (id, root_id) ORDER BY id
             ON CONFLICT (id) DO UPDATE SET leased_until = excluded.leased_until`,
      values: [slots.map(({ id }) => id), slots.map(({ rootId }) => rootId), leaseSeconds],
    });
  },

  async release(id: string): Promise<void> {
    await pool.query({
      name: 'streams-release',
      text: 'DELETE FROM delivery.streams WHERE id = $1',
      values: [id],
    });
  },
});

export type StreamSlots = ReturnType<typeof createStreamSlots>;

/** How often an idle stream sends its position (ms). */
const positionMs = 15_000;
/** The life of a stream (ms). It is random, so that streams that started together do not end together. */
const life = { shortestMs: 55 * 60_000, longestMs: 65 * 60_000 };
const renewMs = 10_000;
/** Events of one portion. While a client does not read, the stream holds one portion as bytes. */
const limits = { events: 500, bytes: 250_000 };

export interface StreamRequest {
  readonly filter: FeedFilter;
  readonly from: Cursor;
  readonly slot: StreamSlot | 'unlimited';
  readonly caller: Caller;
}

/** The slot of a key's stream. */
interface StreamSlot {
  readonly id: string;
  readonly rootId: string;
}

/** The messages of portions, which streams share. */
const messagesOf = new WeakMap<readonly FeedEvent[], Buffer>();

class Stream {
  /** `null`: the stream is an operator's. */
  readonly slot: StreamSlot | null;
  readonly caller: Caller;
  readonly #follower: Follower;
  #isEnded = false;

  constructor(
    private readonly feed: Feed,
    { filter, from, slot, caller }: StreamRequest,
    private readonly res: ServerResponse,
  ) {
    this.slot = slot === 'unlimited' ? null : slot;
    this.caller = caller;
    this.#follower = feed.follow(filter, from, limits, true);
  }

  /** Sends events until the stream ends or the client disconnects. */
  async run(): Promise<void> {
    const end = (): void => {
      this.end();
    };
    this.res.once('close', end);
    const timer = setTimeout(end, randomInt(life.shortestMs, life.longestMs)).unref();
    try {
      await writePart(this.res, 'retry: 2000\n\n');
      while (!this.#isEnded) {
        const messages = await this.#next();
        // The stream has ended meanwhile, and the follower with it.
        if (this.#isOver()) break;
        await writePart(this.res, messages);
      }
    } finally {
      clearTimeout(timer);
      this.#follower.close();
      this.res.end();
    }
  }

  end(): void {
    this.#isEnded = true;
    this.#follower.close();
  }

  #isOver(): boolean {
    return this.#isEnded;
  }

  /** The next messages as bytes: a slow client keeps neither the events nor a string in the heap. */
  async #next(): Promise<Buffer> {
    const before = this.#follower.cursor;
    const events = await this.#follower.next(positionMs);
    if (events.length === 0) return Buffer.from(this.#position());
    const messages = messagesOf.get(events) ?? Buffer.from(this.#messages(events, before));
    messagesOf.set(events, messages);
    return messages;
  }

  #messages(events: readonly FeedEvent[], before: Cursor): string {
    const cursor = [...before];
    const last = events.at(-1);
    return events
      .map((event) => {
        cursor[event.index] = event.offset + 1;
        const after = event === last ? this.#follower.cursor : cursor;
        return `id: ${this.feed.encode(after)}\ndata: ${event.json}\n\n`;
      })
      .join('');
  }

  #position(): string {
    const data = JSON.stringify({ time: new Date().toISOString() });
    return `event: position\nid: ${this.feed.encode(this.#follower.cursor)}\ndata: ${data}\n\n`;
  }
}

/** The open streams of this process. */
export const openStreams = (deps: {
  readonly pool: Pool;
  readonly feed: Feed;
  readonly slots: StreamSlots;
  readonly logger: Logger;
}) => {
  const { pool, feed, slots, logger } = deps;
  const streams = new Set<Stream>();
  let isStopped = false;

  const endRevoked = async (): Promise<void> => {
    const checked = [...streams];
    const callers = checked.map(({ caller }) => caller);
    const mayContinue = await findLiveCallers(pool, callers, 'events:read');
    // Not those that started during the query.
    for (const stream of checked) if (!mayContinue(stream.caller)) stream.end();
  };

  let renewing: Promise<void> = Promise.resolve();

  const renew = async (): Promise<void> => {
    const taken = [...streams].flatMap(({ slot }) => slot ?? []);
    if (taken.length === 0) return;
    renewing = slots.renew(taken);
    await renewing;
  };

  const release = async (slot: StreamSlot | null): Promise<void> => {
    if (!slot) return;
    // A renewal that started before would insert the slot again.
    await Promise.allSettled([renewing]);
    await slots.release(slot.id).catch((err: unknown) => {
      // Its lease ends soon.
      logger.debug({ err }, 'the slot of a stream could not be released');
    });
  };

  const tasks = [
    { name: 'end streams of revoked keys', everyMs: checkMs, task: endRevoked },
    { name: 'renew slots of streams', everyMs: renewMs, task: renew },
  ].map((task) => periodically({ ...task, logger }));

  const run = async (stream: Stream): Promise<void> => {
    streams.add(stream);
    try {
      await stream.run();
    } catch (err) {
      // The client reconnects with its last cursor.
      logger.warn({ err }, 'a stream of events ended');
    } finally {
      streams.delete(stream);
      await release(stream.slot);
    }
  };

  return {
    count: () => streams.size,

    /** Sends events to a response whose head was sent. */
    start(request: StreamRequest, res: ServerResponse): void {
      const stream = new Stream(feed, request, res);
      if (isStopped) stream.end();
      void run(stream);
    },

    /** Releases the slot of a stream that does not start. */
    cancel({ slot }: StreamRequest): void {
      if (slot !== 'unlimited') void release(slot);
    },

    /** Ends all streams. */
    async stop(): Promise<void> {
      isStopped = true;
      for (const stream of streams) stream.end();
      await Promise.all(tasks.map((task) => task.stop()));
    },
  };
};

export type Streams = ReturnType<typeof openStreams>;
