/** Reads a list by pages while it changes. */
import { BoundedMap } from '../../platform/collections.js';

interface Page<Item> {
  readonly items: readonly Item[];
  /** The length of the list. */
  readonly total: number;
  readonly isLast: boolean;
}

interface PagedList<Item> {
  /** Reads a page by its index, from 0. A page beyond the end is empty. */
  readonly readPage: (index: number) => Promise<Page<Item>>;
  readonly idOf: (item: Item) => string;
  /** Whether a page starts with items of the page before it. */
  readonly overlaps: boolean;
}

/** Ids that are remembered: some pages, so that the memory used does not depend on the length of the list. */
const maxRecent = 1_000;

/**
 * The items of a list, each one once.
 *
 * Items that are added to the list or deleted from it shift the pages. Then the pages before the current one are read
 * again, up to a page with a known item, so that no item is missed.
 */
export async function* readPages<Item>(list: PagedList<Item>): AsyncGenerator<Item> {
  const { readPage, idOf, overlaps } = list;
  const recent = new BoundedMap<string, true>(maxRecent);
  const isNew = (item: Item): boolean => {
    const isKnown = recent.has(idOf(item));
    recent.set(idOf(item), true);
    return !isKnown;
  };
  let total: number | null = null;
  for (let index = 0; ; index += 1) {
    const page = await readPage(index);
    const known = new Set(recent.keys());
    const hasKnown = (items: readonly Item[]): boolean =>
      items.some((item) => known.has(idOf(item)));
    const isShifted = page.total !== total || hasKnown(page.items) !== overlaps;
    for (let back = index - 1; isShifted && back >= 0; back -= 1) {
      const { items } = await readPage(back);
      yield* items.filter(isNew);
      if (hasKnown(items)) break;
    }
    yield* page.items.filter(isNew);
    if (page.isLast) return;
    ({ total } = page);
  }
}
