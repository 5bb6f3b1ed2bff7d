import { hashBits } from './trigrams.js';

/**
 * Which blocks of links have a hash: ascending numbers, as the bits of a bitmap, or as runs where these are shorter.
 * A run is its distance from the end of the run before, doubled; plus one if a second number follows, how many are
 * beyond two. All numbers are written with 7 bits a byte, the lowest first.
 */
export interface PostingList {
  readonly isBitmap: boolean;
  readonly bytes: Uint8Array;
  /** Where it begins and ends in the bytes: there are too many lists for objects of their own. */
  readonly from: number;
  readonly to: number;
}

/** Bytes that are written one by one. */
class Bytes {
  #bytes = new Uint8Array(4_096);
  length = 0;

  #reserve(more: number): void {
    if (this.length + more <= this.#bytes.length) return;
    const larger = new Uint8Array(2 * (this.length + more));
    larger.set(this.#bytes);
    this.#bytes = larger;
  }

  addNumber(number: number): void {
    this.#reserve(5);
    let rest = number;
    for (; rest > 127; rest >>>= 7) this.#bytes[this.length++] = (rest & 127) | 128;
    this.#bytes[this.length++] = rest;
  }

  addAll(other: Bytes): void {
    this.#reserve(other.length);
    for (let at = 0; at < other.length; at += 1) {
      this.#bytes[this.length++] = other.#bytes[at] ?? 0;
    }
  }

  addBitmap(numbers: readonly number[], length: number): void {
    this.#reserve(length);
    this.#bytes.fill(0, this.length, this.length + length);
    for (const number of numbers) {
      const at = this.length + (number >> 3);
      this.#bytes[at] = (this.#bytes[at] ?? 0) | (1 << (number & 7));
    }
    this.length += length;
  }

  written(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.length));
  }
}

/** Reads what `Bytes` has written. */
class BytesReader {
  constructor(
    readonly bytes: Uint8Array,
    public at: number,
    readonly to: number,
  ) {}

  get isAtEnd(): boolean {
    return this.at >= this.to;
  }

  number(): number {
    let number = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.bytes[this.at++] ?? 0;
      number |= (byte & 127) << shift;
      if (byte < 128) return number;
    }
  }
}

/** Calls `each` with a list's runs until it returns false. */
const readRuns = (
  { bytes, from, to }: PostingList,
  each: (begin: number, end: number) => boolean,
): void => {
  const reader = new BytesReader(bytes, from, to);
  for (let end = 0; !reader.isAtEnd;) {
    const head = reader.number();
    const begin = end + (head >>> 1);
    end = begin + (head & 1 ? reader.number() + 2 : 1);
    if (!each(begin, end)) return;
  }
};

const writeRuns = (runs: Bytes, numbers: readonly number[]): void => {
  for (let at = 0, end = 0; at < numbers.length;) {
    const begin = numbers[at] ?? 0;
    let length = 1;
    while (numbers[at + length] === begin + length) length += 1;
    runs.addNumber(2 * (begin - end) + (length > 1 ? 1 : 0));
    if (length > 1) runs.addNumber(length - 2);
    end = begin + length;
    at += length;
  }
};

/** Adds the numbers of a list, each moved by `offset`, to others. */
export const readList = (list: PostingList, numbers: number[] = [], offset = 0): number[] => {
  const { isBitmap, bytes, from, to } = list;
  if (isBitmap) {
    for (let at = from; at < to; at += 1) {
      const byte = bytes[at] ?? 0;
      for (let bit = 0; byte >> bit !== 0; bit += 1) {
        if ((byte >> bit) & 1) numbers.push(offset + 8 * (at - from) + bit);
      }
    }
  } else {
    readRuns(list, (begin, end) => {
      for (let number = begin; number < end; number += 1) numbers.push(offset + number);
      return true;
    });
  }
  return numbers;
};

/** Those of ascending numbers that a list has. */
const thoseIn = (numbers: readonly number[], list: PostingList): number[] => {
  const { isBitmap, bytes, from, to } = list;
  if (isBitmap) {
    return numbers.filter((number) => {
      const at = from + (number >> 3);
      return at < to && ((bytes[at] ?? 0) >> (number & 7)) & 1;
    });
  }
  const found: number[] = [];
  let at = 0;
  readRuns(list, (begin, end) => {
    for (; at < numbers.length; at += 1) {
      const number = numbers[at] ?? 0;
      if (number >= end) return true;
      if (number >= begin) found.push(number);
    }
    return false;
  });
  return found;
};

/** How many numbers a list has. */
export const countOf = (list: PostingList): number => {
  let count = 0;
  if (list.isBitmap) {
    for (let at = list.from; at < list.to; at += 1) {
      for (let bits = list.bytes[at] ?? 0; bits > 0; bits &= bits - 1) count += 1;
    }
  } else {
    readRuns(list, (begin, end) => {
      count += end - begin;
      return true;
    });
  }
  return count;
};

/** The numbers up to one that all of the lists have. */
export const inAll = (lists: readonly PostingList[], greatest = Infinity): readonly number[] => {
  const counted = lists.map((list) => ({ list, count: countOf(list) }));
  counted.sort((a, b) => a.count - b.count);
  const [shortest, ...others] = counted.map(({ list }) => list);
  let numbers = shortest ? readList(shortest) : [];
  if ((numbers.at(-1) ?? 0) > greatest) numbers = numbers.filter((number) => number <= greatest);
  for (const list of others) numbers = thoseIn(numbers, list);
  return numbers;
};

/** The blocks of a segment of the first level, … */
export const blocksOfSegment = 256;
/** … of so many links, and those that were made at the same time as the last one. */
export const linksPerBlock = 8;
/** So many segments of a level become one of the next, … */
export const mergedAtOnce = 8;
/** … up to this level: of a million links. */
export const highestLevel = 3;

/** A segment of the next level has eight times as many pages: a page has some 2 KB on each of them. */
const pageBits = (level: number): number => 5 + 3 * level;

/** How many pages a segment of a level has, at most. */
export const pagesOf = (level: number): number => 2 ** pageBits(level);

/** The page of a segment that has the list of a hash. */
export const pageOf = (level: number, hash: number): number =>
  hash >>> (hashBits - pageBits(level));

/** The lists of a page, by hash. */
export type Lists = ReadonlyMap<number, PostingList>;

export const readPage = (bytes: Uint8Array): Lists => {
  const lists = new Map<number, PostingList>();
  const reader = new BytesReader(bytes, 0, bytes.length);
  for (let hash = 0; !reader.isAtEnd;) {
    hash += reader.number();
    const head = reader.number();
    const from = reader.at;
    reader.at += head >>> 1;
    lists.set(hash, { isBitmap: (head & 1) === 1, bytes, from, to: reader.at });
  }
  return lists;
};

export interface Page {
  readonly page: number;
  readonly lists: Buffer;
}

/** A hash, and the numbers of the blocks that have it, ascending. */
export type Posting = readonly [hash: number, blocks: readonly number[]];

/** The pages of a segment of a level. @param postings by ascending hashes */
export const writePages = (level: number, postings: Iterable<Posting>): readonly Page[] => {
  const pages: Page[] = [];
  const lists = new Bytes();
  const runs = new Bytes();
  let before = 0;
  const end = (): void => {
    if (lists.length > 0) pages.push({ page: pageOf(level, before), lists: lists.written() });
    lists.length = 0;
  };
  for (const [hash, all] of postings) {
    if (pageOf(level, hash) !== pageOf(level, before)) end();
    lists.addNumber(lists.length === 0 ? hash : hash - before);
    before = hash;
    runs.length = 0;
    writeRuns(runs, all);
    const bitmapLength = ((all.at(-1) ?? 0) >> 3) + 1;
    const isBitmap = bitmapLength < runs.length;
    lists.addNumber(2 * Math.min(bitmapLength, runs.length) + (isBitmap ? 1 : 0));
    if (isBitmap) lists.addBitmap(all, bitmapLength);
    else lists.addAll(runs);
  }
  end();
  return pages;
};

/** In SQL, by `search.blocks`: the number of the block that has the links of a time, or of the last one before it. */
export const blockOf = (account: string, time: string): string =>
  `(SELECT first + least(width_bucket(${time}, starts), cardinality(starts) - 1) - 1 FROM search.blocks
    WHERE account = ${account} AND starts[1] <= ${time} ORDER BY starts[1] DESC LIMIT 1)`;

/** In SQL, the opposite: the `first` of a block's row, and its place among the `starts` there. */
export const placeOfBlock = (block: string): { readonly row: string; readonly place: string } => ({
  row: `${block} - ${block} % ${blocksOfSegment}`,
  place: `${block} % ${blocksOfSegment} + 1`,
});
