import { expect } from 'chai';
import fc from 'fast-check';
import { readPages } from './pages.js';

const pageSize = 5;

/** Reads a list that `change` changes before each page but the first one. */
const readChanging = async (
  initial: readonly number[],
  overlap: number,
  change: (list: readonly number[], read: number) => readonly number[],
): Promise<{ items: readonly number[]; reads: number }> => {
  let [list, reads] = [initial, 0];
  const pages = readPages<number>({
    readPage: async (index) => {
      await Promise.resolve();
      if (reads > 0) list = change(list, reads);
      reads += 1;
      const start = index * (pageSize - overlap);
      const items = list.slice(start, start + pageSize);
      const isLast = items.length === 0 || start + pageSize >= list.length;
      return { items, total: list.length, isLast };
    },
    idOf: String,
    overlaps: overlap > 0,
  });
  const items: number[] = [];
  for await (const item of pages) items.push(item);
  return { items, reads };
};

const numbers = (count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => index);

const lists = fc.integer({ min: 0, max: 60 }).map(numbers);
const overlaps = fc.constantFrom(0, 2);

describe('CLI: pages of a list that changes', () => {
  it('reads each page once if the list does not change', async () => {
    for (const [overlap, reads] of [
      [0, 4],
      [2, 6],
    ] as const) {
      const result = await readChanging(numbers(20), overlap, (list) => list);
      expect(result).to.deep.equal({ items: numbers(20), reads });
    }
    expect(await readChanging([], 0, (list) => list)).to.deep.equal({ items: [], reads: 1 });
  });

  it('reads each remaining item once while items are added or deleted', async () => {
    const changes = fc.record({ isAdded: fc.boolean(), positions: fc.array(fc.nat()) });
    await fc.assert(
      fc.asyncProperty(lists, overlaps, changes, async (list, overlap, change) => {
        const deleted = new Set<number>();
        let next = list.length;
        const { items } = await readChanging(list, overlap, (current, read) => {
          const position = change.positions[read];
          if (position === undefined) return current;
          next += 1;
          const first = position % (current.length + 1);
          if (change.isAdded) return current.toSpliced(first, 0, next);
          const count = 1 + (position % 9);
          for (const item of current.slice(first, first + count)) deleted.add(item);
          return current.toSpliced(first, count);
        });
        expect(items).to.have.length(new Set(items).size);
        expect(items).to.include.members(list.filter((item) => !deleted.has(item)));
      }),
      { numRuns: 100 },
    );
  });

  it('remembers a limited number of items', async () => {
    // The list is read to its end while it gets an item before each page.
    const { items } = await readChanging(numbers(1_100), 0, (list, read) => [
      1_100 + read,
      ...list,
    ]);
    expect(items).to.include.members([...numbers(1_100)]);
  });
});
