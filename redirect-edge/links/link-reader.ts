import { BoundedMap } from '../../ops/platform/collections.js';
import { createBatcher, Overloaded, type Batcher } from '../../ops/platform/concurrency/batcher.js';
import { endsWithin } from '../../ops/platform/concurrency/deadline.js';
import { readCodes } from '../../ops/ledger/codes.js';
import { readLinkStates } from '../../ops/ledger/link-states.js';
import type { Outbox } from '../../ops/event-log/outbox/port.js';
import { isUnavailable, mayBeCausedByOneCommand } from '../../ops/platform/error-codes.js';
import type { Pool } from '../../ops/platform/postgres/pool.js';
import { noOptions, type LinkOptions } from '../../schemas/link-options.js';
import type { RuleConditions } from '../../schemas/redirect-rules.js';
import { servedLink, type ServedLink } from '../redirect/decision.js';
import { Freshness } from './freshness.js';
import type { SharedCache } from './shared-cache.js';

/** Bytes of an entry besides its strings: objects, slot of the Map, overhead of V8 (measured: about 300). */
const entryOverhead = 360;

/** Bytes of a further code or a campaign besides its text: slots of Map and array. */
const textOverhead = 80;

/** Bytes of the objects and texts of options, for each character of their JSON (measured: 2.5). */
const bytesPerCharacter = 3;

/** A link and its cache metadata, in one object: each further object is another CPU cache miss. */
interface Entry extends ServedLink {
  readonly generation: number;
  /** Whole seconds: V8 allocates a separate object for a number with a fraction. */
  readonly readAt: number;
  /** Whether the entry was used since the CLOCK hand passed it. */
  wasUsed: boolean;
}

/** Used entries that the hand skips for one new entry, before it evicts a used one. */
const maxSkipped = 100;

/**
 * An older entry is stale. If a notification is lost, a change is live after this time, or after twice this time if the
 * clock goes back. With 100,000 links in use, it costs 170 rows a second.
 */
const maxAgeSeconds = 600;

/** Bytes of further codes or campaigns, with their slots of a Map. */
const costOfTexts = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + textOverhead + 2 * text.length, 0);

const costOf = (link: ServedLink): number =>
  entryOverhead +
  2 * link.subject.length +
  link.account.length +
  2 * link.location.length +
  (link.passwordHash?.length ?? 0) +
  (link.options === noOptions ? 0 : bytesPerCharacter * JSON.stringify(link.options).length) +
  costOfTexts(link.codes) +
  (link.campaigns ? costOfTexts([...link.campaigns.values()]) : 0);

const secondsOf = (ms: number): number => Math.floor(ms / 1_000);

/**
 * Recently used links, at most `maxBytes`. Eviction is CLOCK, an approximation of LRU: an exact order of use would cost
 * more than the look-up. Times are milliseconds since the epoch.
 */
export class LinkCache {
  readonly #entries = new Map<string, Entry>();
  /** The subjects of the entries that have further codes, by code. */
  readonly #codes = new Map<string, string>();
  readonly #accounts = new BoundedMap<string, string>(1_000);
  /** The key is their JSON. */
  readonly #conditions = new BoundedMap<string, RuleConditions>(10_000);
  #size = 0;
  /** Goes around the entries: a Map's iterator includes entries that are added later. */
  #hand = this.#entries.values();

  constructor(private readonly maxBytes: number) {}

  /** Estimated bytes. */
  get size(): number {
    return this.#size;
  }

  /** Estimated free bytes. */
  get room(): number {
    return this.maxBytes - this.#size;
  }

  get count(): number {
    return this.#entries.size;
  }

  /**
   * The link with this first or further code, if its entry is of this generation and not too old. A generation of `null`
   * accepts any entry.
   */
  get(code: string, generation: number | null, now = Date.now()): ServedLink | undefined {
    const entry = this.#entries.get(code) ?? this.#entries.get(this.#codes.get(code) ?? '');
    if (!entry) return undefined;
    if (generation !== null) {
      if (entry.generation !== generation) return undefined;
      // The clock may go back.
      if (Math.abs(secondsOf(now) - entry.readAt) > maxAgeSeconds) return undefined;
    }
    // A redundant write costs as much as another CPU cache miss.
    if (!entry.wasUsed) entry.wasUsed = true;
    return entry;
  }

  /** Adds the link, and evicts others if there is no room. */
  set(link: ServedLink, generation: number, now = Date.now()): void {
    this.delete(link.subject);
    const cost = costOf(link);
    if (cost > this.maxBytes) return;
    this.#makeRoom(cost);
    this.#size += cost;
    this.#entries.set(link.subject, {
      subject: link.subject,
      generation,
      readAt: secondsOf(now),
      wasUsed: false,
      status: link.status,
      startsAt: link.startsAt,
      expiresAt: link.expiresAt,
      limited: link.limited,
      passwordHash: link.passwordHash,
      location: link.location,
      options: this.#withSharedConditions(link.options),
      codes: link.codes,
      campaigns: link.campaigns,
      account: this.#sameText(link.account),
      sequence: link.sequence,
      createdAt: link.createdAt,
    });
    for (const code of link.codes) this.#codes.set(code, link.subject);
  }

  delete(subject: string): void {
    const entry = this.#entries.get(subject);
    if (!entry) return;
    this.#entries.delete(subject);
    for (const code of entry.codes) this.#codes.delete(code);
    this.#size -= costOf(entry);
  }

  #makeRoom(bytes: number): void {
    let skipped = 0;
    while (this.room < bytes) {
      const { value: entry } = this.#hand.next();
      if (!entry) this.#hand = this.#entries.values();
      else if (entry.wasUsed && skipped < maxSkipped) {
        entry.wasUsed = false;
        skipped += 1;
      } else this.delete(entry.subject);
    }
  }

  /** Most conditions are those of other links, too: shared objects are in the CPU cache. */
  #withSharedConditions(options: LinkOptions): LinkOptions {
    if (!options.rules) return options;
    const rules = options.rules.map((rule) => {
      const json = JSON.stringify(rule.when);
      const known = this.#conditions.get(json);
      if (known === undefined) this.#conditions.set(json, rule.when);
      return { ...rule, when: known ?? rule.when };
    });
    return { ...options, rules };
  }

  /** One string for all links of an account. */
  #sameText(account: string): string {
    const known = this.#accounts.get(account);
    if (known === undefined) this.#accounts.set(account, account);
    return known ?? account;
  }
}

/** A stale link is served if reading it takes longer. */
const staleAfterMs = 300;

/**
 * The cache does not notice when a limit is used up. For a link that also has a password, visitors would fill in the
 * form in vain.
 */
const cacheable = (link: ServedLink): boolean => !link.limited || link.passwordHash === null;

/**
 * Reads links. Those of one event-loop tick are read with one query.
 *
 * "Not found" is not cached, and applies only to visitors who were waiting when the query was sent: a link that is
 * created a moment later is found.
 */
export class LinkReader {
  /** Counters of `cached`. */
  readonly lookups = { hits: 0, misses: 0 };
  /** Cached links of an older generation are stale. */
  #generation = 0;
  #isListening = true;
  readonly #batcher: Batcher<string, ServedLink | null>;

  constructor(
    private readonly pool: Pool,
    private readonly outbox: Outbox,
    private readonly cache: LinkCache,
    private readonly freshness = new Freshness(),
    shared: SharedCache | null = null,
  ) {
    const run = (subjects: readonly string[]) => this.#readAll(subjects, shared);
    // If more look-ups wait, visitors get 503.
    this.#batcher = createBatcher({
      maxBatch: 1_000,
      maxWaiting: 5_000,
      run,
      mayBeCausedByOneCommand,
    });
  }

  /** Like `cached`, but not counted: the caller counts a hit, or calls `cached`. */
  peek(subject: string, now?: number): ServedLink | undefined {
    return this.#isListening ? this.cache.get(subject, this.#generation, now) : undefined;
  }

  /** The link in memory, synchronously. */
  cached(subject: string): ServedLink | undefined {
    const link = this.peek(subject);
    if (link) this.lookups.hits += 1;
    else this.lookups.misses += 1;
    return link;
  }

  /**
   * Reads the link from the shared cache, else from the read model and the outbox; `null` if it does not exist.
   *
   * @throws Overloaded
   */
  async read(subject: string): Promise<ServedLink | null> {
    const read = this.#batcher.submit(subject);
    const isStale = this.cache.get(subject, null) !== undefined;
    if (isStale && !(await endsWithin(read, staleAfterMs)))
      return this.cache.get(subject, null) ?? read;
    try {
      return await read;
    } catch (error) {
      // An edge serves stale links while PostgreSQL is unavailable.
      const stale =
        isUnavailable(error) || error instanceof Overloaded
          ? this.cache.get(subject, null)
          : undefined;
      if (!stale) throw error;
      return stale;
    }
  }

  /** Reads links into memory in the background. */
  async readAhead(subjects: readonly string[]): Promise<void> {
    await this.#readAll(subjects, null);
  }

  /** Drops the link from memory. */
  forget(subject: string): void {
    this.cache.delete(subject);
  }

  /** Drops the link from memory, and refuses copies that lack the change of this sequence. */
  changed(subject: string, sequence: number): void {
    this.freshness.changed(subject, sequence);
    this.forget(subject);
  }

  /**
   * Marks every link in memory as stale, because notifications of changes may have been lost. Until it is read again, a
   * stale link is served only if reading it fails or is slow. While the edge receives no notifications, links are
   * read for every visit.
   */
  markAllStale(isListening: boolean): void {
    this.freshness.gap(isListening);
    this.#isListening = isListening;
    this.#generation += 1;
  }

  async #readAll(
    subjects: readonly string[],
    shared: SharedCache | null,
  ): Promise<readonly (ServedLink | null)[]> {
    const generation = this.#generation;
    const isCurrent = this.freshness.reading();
    const unique = [...new Set(subjects)];
    const found = new Map(await shared?.get(unique));
    const isMissing = (subject: string): boolean => !found.has(subject);
    for (const link of await this.#readPostgres(unique.filter(isMissing), shared)) {
      found.set(link.subject, link);
    }
    // A shared copy may be older than a code that is being read.
    const codes = await readCodes(this.pool, unique.filter(isMissing));
    const owners = new Set(Array.from(codes.values(), ({ link }) => link));
    for (const link of await this.#readPostgres([...owners], shared)) found.set(link.subject, link);
    for (const link of found.values()) {
      // A link that has changed meanwhile is served to the waiting visitors, but not cached.
      if (cacheable(link) && isCurrent(link)) this.cache.set(link, generation);
    }
    return subjects.map((subject) => {
      const code = codes.get(subject);
      const link = found.get(code?.link ?? subject);
      if (!link) return null;
      return code?.isRemoved ? { ...link, status: 'deleted' } : link;
    });
  }

  async #readPostgres(
    subjects: readonly string[],
    shared: SharedCache | null,
  ): Promise<readonly ServedLink[]> {
    if (subjects.length === 0) return [];
    const share = shared?.reading();
    const states = await readLinkStates(this.pool, this.outbox, subjects);
    const links = [...states.values()].flatMap(
      ({ state, sequence }) => servedLink(state, sequence) ?? [],
    );
    share?.(links);
    return links;
  }
}
