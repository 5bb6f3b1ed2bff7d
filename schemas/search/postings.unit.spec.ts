import { expect } from 'chai';
import fc from 'fast-check';
import {
  countOf,
  highestLevel,
  inAll,
  pageOf,
  pagesOf,
  readList,
  readPage,
  writePages,
  type PostingList,
} from './postings.js';
import { hashBits } from './trigrams.js';

/** Ascending numbers, in runs and alone. */
const someNumbers = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 3_000 }), fc.integer({ min: 1, max: 40 })), {
    minLength: 1,
    maxLength: 60,
  })
  .map((runs) => {
    let end = -1;
    return runs.flatMap(([distance, length]) => {
      const from = end + distance;
      end = from + length;
      return Array.from({ length }, (_, index) => from + index);
    });
  });

const listOf = (numbers: readonly number[]): PostingList => {
  const [page] = writePages(0, [[7, numbers]]);
  const list = page && readPage(page.lists).get(7);
  if (!list) throw new Error('no list was written');
  return list;
};

describe('schemas: lists of blocks that have a hash', () => {
  it('are read as they were written', () => {
    fc.assert(
      fc.property(someNumbers, (numbers) => {
        expect(readList(listOf(numbers))).to.deep.equal(numbers);
        expect(countOf(listOf(numbers))).to.equal(numbers.length);
      }),
    );
  });

  it('are short for few blocks, for all, and for half of them', () => {
    const every = (step: number): PostingList =>
      listOf(Array.from({ length: 131_072 / step }, (_, index) => index * step));
    const sizeOf = ({ from, to }: PostingList): number => to - from;
    expect(sizeOf(every(1))).to.equal(4);
    expect(sizeOf(every(2))).to.equal(131_072 / 8);
    expect(sizeOf(every(1_024))).to.equal(2 * 128 - 1);
  });

  it('tell which blocks all of them have', () => {
    fc.assert(
      fc.property(fc.array(someNumbers, { minLength: 1, maxLength: 4 }), (all) => {
        const [first = [], ...others] = all;
        const common = first.filter((number) => others.every((other) => other.includes(number)));
        expect(inAll(all.map(listOf))).to.deep.equal(common);
        const upTo = inAll(all.map(listOf), 1_000);
        expect(upTo).to.deep.equal(common.filter((number) => number <= 1_000));
      }),
    );
  });

  it('are on the page of their hash', () => {
    const hash = fc.integer({ min: 0, max: 2 ** hashBits - 1 });
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: highestLevel }),
        fc.uniqueArray(fc.tuple(hash, someNumbers), { selector: ([hash]) => hash, maxLength: 50 }),
        (level, entries) => {
          const ordered = [...entries].sort(([a], [b]) => a - b);
          const pages = writePages(level, ordered);
          expect(pages.flatMap(({ lists }) => [...readPage(lists).keys()])).to.deep.equal(
            ordered.map(([hash]) => hash),
          );
          for (const [hash, numbers] of entries) {
            const page = pages.find((one) => one.page === pageOf(level, hash));
            const list = page && readPage(page.lists).get(hash);
            expect(list && readList(list)).to.deep.equal(numbers);
          }
          for (const { page } of pages) expect(page).to.be.within(0, pagesOf(level) - 1);
        },
      ),
    );
  });
});
