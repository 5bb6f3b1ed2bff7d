import { BoundedMap } from '../../ops/platform/bounded-map.js';
import { createBatcher, Overloaded, type Batcher } from '../../ops/platform/concurrency/batcher.js';
import { settledWithin } from '../../ops/platform/concurrency/deferred.js';
import { readLinkStates } from '../../ops/ledger/link-states.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import { isUnavailable, mayBeCausedByOneCommand } from '../../ops/platform/error-codes.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { TextMap } from '../../ops/platform/text-map.js';
import { servedLink, type ServedLink } from '../redirect/decision.js';
import { Freshness } from './freshness.js';
import type { SharedCache } from './shared-cache.js';

/** What an entry costs besides its strings: objects, map slot, and what V8 adds (measured: ~300). */
const entryOverhead = 360;

/** A link, and what the cache knows of it: one object, since each more is a miss of the processor's caches. */
interface Entry extends ServedLink {
  readonly generation: number;
  /** In whole seconds: a number with a fraction would be an object of its own. */
  readonly readAt: number;
  /** Since it was looked at last to make room. */
  wasUsed: boolean;
}

/** Entries in use that are spared for one new entry, before it takes the place of one in use. */
const maxSpared = 100;

/**
 * An older entry is in doubt. Whatever a notification was lost by, a change is live after this long; after twice that
 * at most, where the clock goes back meanwhile. At 100,000 links in use it costs 170 rows a second.
 */
const greatestAgeSeconds = 600;

const costOf = (link: ServedLink): number =>
  entryOverhead +
  link.code.length +
  link.account.length +
  2 * link.location.length +
  (link.passwordHash?.length ?? 0);

const secondsOf = (ms: number): number => Math.floor(ms / 1_000);

/**
 * The links that were asked for last, within `maxBytes`. CLOCK: a hand goes around, and what it finds makes room if
 * it was not used since it was found before. To keep links in the order of their use would cost more than to find
 * them. Times are milliseconds since the epoch.
 */
export class LinkCache {
  readonly #entries = new TextMap<Entry>(({ code }) => code);
  readonly #accounts = new BoundedMap<string, string>(1_000);
  #size = 0;
  #hand = 0;

  constructor(private readonly maxBytes: number) {}

  /** Bytes, as estimated. */
  get size(): number {
    return this.#size;
  }

  /** Bytes that are left, as estimated. */
  get room(): number {
    return this.maxBytes - this.#size;
  }

  get count(): number {
    return this.#entries.size;
  }

  /** The link, if its entry is of this generation and not too old; `null` takes any. */
  get(code: string, generation: number | null, now = Date.now()): ServedLink | undefined {
    return this.#current(this.#entries.get(code), generation, now);
  }

  /** The same of many at once, which is faster: see `TextMap`. */
  getAll(
    codes: readonly string[],
    generation: number | null,
    now = Date.now(),
  ): (ServedLink | undefined)[] {
    return this.#entries.getAll(codes).map((entry) => this.#current(entry, generation, now));
  }

  #current(
    entry: Entry | undefined,
    generation: number | null,
    now: number,
  ): ServedLink | undefined {
    if (!entry) return undefined;
    if (generation !== null) {
      if (entry.generation !== generation) return undefined;
      // The clock may go back.
      if (Math.abs(secondsOf(now) - entry.readAt) > greatestAgeSeconds) return undefined;
    }
    // A write for nothing costs as much as another miss of the processor's caches.
    if (!entry.wasUsed) entry.wasUsed = true;
    return entry;
  }

  /** Keeps the link, in the place of others where there is no room. */
  set(link: ServedLink, generation: number, now = Date.now()): void {
    this.delete(link.code);
    const cost = costOf(link);
    if (cost > this.maxBytes) return;
    this.#makeRoom(cost);
    this.#size += cost;
    this.#entries.add({
      code: link.code,
      generation,
      readAt: secondsOf(now),
      wasUsed: false,
      status: link.status,
      startsAt: link.startsAt,
      expiresAt: link.expiresAt,
      limited: link.limited,
      passwordHash: link.passwordHash,
      location: link.location,
      account: this.#sameText(link.account),
      sequence: link.sequence,
      createdAt: link.createdAt,
    });
  }

  delete(code: string): void {
    const entry = this.#entries.get(code);
    if (!entry) return;
    this.#entries.delete(entry);
    this.#size -= costOf(entry);
  }

  #makeRoom(bytes: number): void {
    let spared = 0;
    while (this.room < bytes) {
      const found = this.#entries.at(this.#hand);
      this.#hand = (this.#hand + 1) % this.#entries.places;
      if (found?.wasUsed && spared < maxSpared) {
        found.wasUsed = false;
        spared += 1;
      } else if (found) this.delete(found.code);
    }
  }

  /** The links of an account share its name. */
  #sameText(account: string): string {
    const known = this.#accounts.get(account);
    if (known === undefined) this.#accounts.set(account, account);
    return known ?? account;
  }
}

/** A link in doubt is served unread when the reading takes longer. */
const doubtMs = 300;

const maxGroup = 1_000;
/** Look-ups that may wait: beyond, visitors get 503 instead of a queue without end. */
const maxWaiting = 5_000;

/**
 * Memory does not see a limit used up. For a link that also has a password, visitors would fill in the
 * form in vain.
 */
const cacheable = (link: ServedLink): boolean => !link.limited || link.passwordHash === null;

/**
 * Reads links, those of one event-loop tick with one query.
 *
 * A "not found" is not remembered, and a query's "not found" answers only the visitors who were
 * waiting when it was sent: a link made a moment later is found.
 */
export class LinkReader {
  /** How often `cached` had a link, and how often not; only ever rise. */
  readonly lookups = { hits: 0, misses: 0 };
  /** Links in memory of an older generation are in doubt. */
  #generation = 0;
  #changesAreHeard = true;
  readonly #batcher: Batcher<string, ServedLink | null>;

  constructor(
    private readonly pool: Pool,
    private readonly outbox: Outbox,
    private readonly cache: LinkCache,
    private readonly freshness = new Freshness(),
    shared: SharedCache | null = null,
  ) {
    const run = (codes: readonly string[]) => this.#readAll(codes, shared);
    this.#batcher = createBatcher({ maxBatch: maxGroup, maxWaiting, run, mayBeCausedByOneCommand });
  }

  /** Like `cached`, and not counted: whoever answers from it counts a hit, and else asks `cached`. */
  peek(code: string, now?: number): ServedLink | undefined {
    return this.#changesAreHeard ? this.cache.get(code, this.#generation, now) : undefined;
  }

  /** The same of many at once. */
  peekAll(codes: readonly string[], now?: number): (ServedLink | undefined)[] {
    return this.#changesAreHeard
      ? this.cache.getAll(codes, this.#generation, now)
      : codes.map(() => undefined);
  }

  /** From memory, without waiting. */
  cached(code: string): ServedLink | undefined {
    const link = this.peek(code);
    if (link) this.lookups.hits += 1;
    else this.lookups.misses += 1;
    return link;
  }

  /**
   * From the shared cache, else from the read model and the outbox; `null` where there is no such
   * link. @throws Overloaded
   */
  async read(code: string): Promise<ServedLink | null> {
    const read = this.#batcher.submit(code);
    const inDoubt = this.cache.get(code, null) !== undefined;
    if (inDoubt && !(await settledWithin(read, doubtMs))) return this.cache.get(code, null) ?? read;
    try {
      return await read;
    } catch (error) {
      // Cut off from PostgreSQL, an edge serves what it has.
      const doubted =
        isUnavailable(error) || error instanceof Overloaded
          ? this.cache.get(code, null)
          : undefined;
      if (!doubted) throw error;
      return doubted;
    }
  }

  /** Reads links into memory that nobody waits for. */
  async readAhead(codes: readonly string[]): Promise<void> {
    await this.#readAll(codes, null);
  }

  /** The link in memory is out of date. */
  forget(code: string): void {
    this.cache.delete(code);
  }

  /** The link in memory is out of date, and copies are without the change of this sequence. */
  changed(code: string, sequence: number): void {
    this.freshness.heard(code, sequence);
    this.forget(code);
  }

  /**
   * Changes may have been missed: each link in memory is read again before it is served. While the
   * edge cannot hear of changes, links are read for every visit.
   */
  doubtAll(changesAreHeard: boolean): void {
    this.freshness.gap(changesAreHeard);
    this.#changesAreHeard = changesAreHeard;
    this.#generation += 1;
  }

  async #readAll(
    codes: readonly string[],
    shared: SharedCache | null,
  ): Promise<readonly (ServedLink | null)[]> {
    const generation = this.#generation;
    const isCurrent = this.freshness.reading();
    const asked = [...new Set(codes)];
    const found = new Map(await shared?.get(asked));
    const missing = asked.filter((code) => !found.has(code));
    for (const link of await this.#readPostgres(missing, shared)) {
      found.set(link.code, link);
    }
    for (const link of found.values()) {
      // A link that changed meanwhile goes to the waiting visitors, and is not kept.
      if (cacheable(link) && isCurrent(link)) this.cache.set(link, generation);
    }
    return codes.map((code) => found.get(code) ?? null);
  }

  async #readPostgres(
    codes: readonly string[],
    shared: SharedCache | null,
  ): Promise<readonly ServedLink[]> {
    if (codes.length === 0) return [];
    const share = shared?.reading();
    const states = await readLinkStates(this.pool, this.outbox, codes);
    const links = [...states.values()].flatMap(
      ({ state, sequence }) => servedLink(state, sequence) ?? [],
    );
    share?.(links);
    return links;
  }
}
