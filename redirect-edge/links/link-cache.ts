import type { ServedLink } from '../domain/visit.js';

/** What an entry costs besides its strings: objects, map slot, and what V8 adds (measured: ~300). */
const entryOverhead = 360;

export interface LinkCache {
  /** The link, if what is known of it is of this generation; `null` takes any. */
  get(code: string, generation: number | null): ServedLink | undefined;
  set(link: ServedLink, generation: number): void;
  delete(code: string): void;
  /** Bytes, as estimated. */
  readonly size: number;
  readonly count: number;
}

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
export const createLinkCache = (maxBytes: number): LinkCache => {
  // A Map keeps the order of insertion: the least recently used link comes first.
  const entries = new Map<string, Entry>();
  let size = 0;

  const remove = (code: string): void => {
    const entry = entries.get(code);
    if (!entry) return;
    entries.delete(code);
    size -= costOf(entry.link);
  };

  return {
    get(code, generation) {
      const entry = entries.get(code);
      if (!entry || (generation !== null && entry.generation !== generation)) return undefined;
      entries.delete(code);
      entries.set(code, entry);
      return entry.link;
    },
    set(link, generation) {
      remove(link.code);
      entries.set(link.code, { link, generation });
      size += costOf(link);
      for (const [oldest] of entries) {
        if (size <= maxBytes) break;
        remove(oldest);
      }
    },
    delete: remove,
    get size() {
      return size;
    },
    get count() {
      return entries.size;
    },
  };
};
