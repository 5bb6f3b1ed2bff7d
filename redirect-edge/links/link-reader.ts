import { createBatcher } from '../../ops/platform/concurrency/batcher.js';
import { readLinkStates } from '../../ops/ledger/link-states.js';
import type { Outbox } from '../../ops/platform/outbox/port.js';
import { isConnectionError, type Pool } from '../../ops/platform/postgres/pool.js';
import { servedLink, type ServedLink } from '../domain/visit.js';
import { Freshness } from './freshness.js';
import type { SharedCache } from './shared-cache.js';

/** What an entry costs besides its strings: objects, map slot, and what V8 adds (measured: ~300). */
const entryOverhead = 360;

interface Entry {
  readonly link: ServedLink;
  readonly generation: number;
}

const costOf = (link: ServedLink): number =>
  entryOverhead +
  link.code.length +
  link.account.length +
  2 * link.location.length +
  (link.passwordHash?.length ?? 0);

/** The links that were asked for last, within `maxBytes`. */
export class LinkCache {
  /** A Map keeps the order of insertion: the least recently used link comes first. */
  readonly #entries = new Map<string, Entry>();
  #size = 0;

  constructor(private readonly maxBytes: number) {}

  /** Bytes, as estimated. */
  get size(): number {
    return this.#size;
  }

  get count(): number {
    return this.#entries.size;
  }

  /** The link, if its entry has this generation; `null` takes any. */
  get(code: string, generation: number | null): ServedLink | undefined {
    const entry = this.#entries.get(code);
    if (!entry || (generation !== null && entry.generation !== generation)) return undefined;
    this.#entries.delete(code);
    this.#entries.set(code, entry);
    return entry.link;
  }

  set(link: ServedLink, generation: number): void {
    this.delete(link.code);
    this.#entries.set(link.code, { link, generation });
    this.#size += costOf(link);
    for (const [oldest] of this.#entries) {
      if (this.#size <= this.maxBytes) break;
      this.delete(oldest);
    }
  }

  delete(code: string): void {
    const entry = this.#entries.get(code);
    if (!entry) return;
    this.#entries.delete(code);
    this.#size -= costOf(entry.link);
  }
}

const maxGroup = 1_000;
/** Look-ups that may wait: beyond, visitors get 503 instead of a queue without end. */
const maxWaiting = 5_000;

/**
 * Memory does not see a limit used up. For a link that also has a password, visitors would fill in the
 * form in vain.
 */
const cacheable = (link: ServedLink): boolean => !link.limited || link.passwordHash === null;

export interface LinkReader {
  /** How often `cached` had a link, and how often not; only ever rise. */
  readonly lookups: { readonly hits: number; readonly misses: number };
  /** From memory, without waiting. */
  cached(code: string): ServedLink | undefined;
  /**
   * From the shared cache, else from the read model and the outbox; `null` where there is no such
   * link. @throws Overloaded
   */
  read(code: string): Promise<ServedLink | null>;
  /** What is in memory of a link is out of date. */
  forget(code: string): void;
  /** What is known of a link is out of date, unless it has the change of this sequence. */
  changed(code: string, sequence: number): void;
  /**
   * Changes may have been missed: what is in memory is read again before it is served; as long as
   * nobody hears of changes, every time.
   */
  doubtAll(changesAreHeard: boolean): void;
}

/**
 * Reads links, those of one event-loop tick with one query.
 *
 * What is not found is not remembered, and a query's "not found" answers only those who were
 * waiting when it was sent: a link made a moment later is found.
 */
export const createLinkReader = (
  pool: Pool,
  outbox: Outbox,
  cache: LinkCache,
  freshness = new Freshness(),
  shared: SharedCache | null = null,
): LinkReader => {
  /** Of the links that are in memory: those of an older generation are in doubt. */
  let generation = 0;
  let changesAreHeard = true;

  const readPostgres = async (codes: readonly string[]): Promise<readonly ServedLink[]> => {
    if (codes.length === 0) return [];
    const share = shared?.reading();
    const states = await readLinkStates(pool, outbox, codes);
    const links = [...states.values()].flatMap(
      ({ state, sequence }) => servedLink(state, sequence) ?? [],
    );
    share?.(links);
    return links;
  };

  const run = async (codes: readonly string[]): Promise<readonly (ServedLink | null)[]> => {
    const asOf = generation;
    const asked = [...new Set(codes)];
    const found = new Map(await shared?.get(asked));
    for (const link of await readPostgres(asked.filter((code) => !found.has(code)))) {
      found.set(link.code, link);
    }
    for (const link of found.values()) {
      // What was changed meanwhile is answered to those who were waiting, and not kept.
      if (cacheable(link) && freshness.isCurrent(link)) cache.set(link, asOf);
    }
    return codes.map((code) => found.get(code) ?? null);
  };
  const batcher = createBatcher<string, ServedLink | null>({ maxBatch: maxGroup, maxWaiting, run });

  const lookups = { hits: 0, misses: 0 };

  return {
    lookups,
    cached(code) {
      const link = changesAreHeard ? cache.get(code, generation) : undefined;
      if (link) lookups.hits += 1;
      else lookups.misses += 1;
      return link;
    },
    async read(code) {
      try {
        return await batcher.submit(code);
      } catch (error) {
        // Cut off from PostgreSQL, an edge serves what it has.
        const doubted = isConnectionError(error) ? cache.get(code, null) : undefined;
        if (!doubted) throw error;
        return doubted;
      }
    },
    forget(code) {
      cache.delete(code);
    },
    changed(code, sequence) {
      freshness.heard(code, sequence);
      const known = cache.get(code, null);
      if (known && !freshness.isCurrent(known)) cache.delete(code);
    },
    doubtAll(heard) {
      freshness.gap(heard);
      changesAreHeard = heard;
      generation += 1;
    },
  };
};
