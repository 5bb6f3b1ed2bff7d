import type { ServedLink } from '../domain/visit.js';

/** What an entry costs besides its strings: object, map slot, and what V8 adds (measured: ~300). */
const entryOverhead = 320;

export interface LinkCache {
  get(code: string): ServedLink | undefined;
  set(link: ServedLink): void;
  delete(code: string): void;
  /** Bytes, as estimated. */
  readonly size: number;
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
  const links = new Map<string, ServedLink>();
  let size = 0;

  const remove = (code: string): void => {
    const link = links.get(code);
    if (!link) return;
    links.delete(code);
    size -= costOf(link);
  };

  return {
    get(code) {
      const link = links.get(code);
      if (!link) return undefined;
      links.delete(code);
      links.set(code, link);
      return link;
    },
    set(link) {
      remove(link.code);
      links.set(link.code, link);
      size += costOf(link);
      for (const [oldest] of links) {
        if (size <= maxBytes) break;
        remove(oldest);
      }
    },
    delete: remove,
    get size() {
      return size;
    },
  };
};
