import { parseUrl } from '../parse-url.js';
import { foldCase } from './fold-case.js';

/** The links of a signature are in so many blocks, the newest first … */
export const blockCount = 2_048;
/** … of so many links, and those that were made at the same time as the last one. */
export const linksPerBlock = 8;
/** Values of the hash. Links with URLs of some 70 characters fill a twelfth of all bits. */
const hashCount = 2_048;

/** The bytes of one hash value: a bit for each block. */
export const rowBytes = blockCount / 8;
export const signatureBytes = hashCount * rowBytes;

/** What of a link can be searched. */
export interface SearchTexts {
  readonly code: string;
  readonly url: string;
  readonly title: string | null;
  readonly note: string | null;
}

/** The hashes of all three characters that follow each other in a text, as UTF-16 has them. */
const hashesOf = function* (folded: string): Generator<number> {
  for (let at = 0; at + 3 <= folded.length; at += 1) {
    let hash = folded.charCodeAt(at);
    hash = Math.imul(hash, 0x01000193) ^ folded.charCodeAt(at + 1);
    hash = Math.imul(hash, 0x01000193) ^ folded.charCodeAt(at + 2);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    yield (hash ^ (hash >>> 12)) >>> 21;
  }
};

const hostText = (host: string): string => `://${host}`;

/** Where the rows of a search are: of links that have the part in a text, and that lead to the host. */
export const rowsOfQuery = (
  part: string | undefined,
  host: string | undefined,
): readonly number[] => [
  ...new Set([
    ...(part === undefined ? [] : hashesOf(foldCase(part))),
    ...(host === undefined ? [] : hashesOf(hostText(host))),
  ]),
];

/** A signature that is being made. */
export class Signature {
  readonly bytes = Buffer.alloc(signatureBytes);

  /** Adds a link to a block. */
  add(block: number, { code, url, title, note }: SearchTexts): void {
    const folded = foldCase(url);
    this.#addText(block, folded);
    this.#addText(block, foldCase(code));
    if (title !== null) this.#addText(block, foldCase(title));
    if (note !== null) this.#addText(block, foldCase(note));
    const host = parseUrl(url)?.hostname;
    if (host !== undefined && !folded.includes(hostText(host))) {
      this.#addText(block, hostText(host));
    }
  }

  #addText(block: number, folded: string): void {
    const byte = block >> 3;
    const bit = 1 << (block & 7);
    for (const hash of hashesOf(folded)) {
      const at = hash * rowBytes + byte;
      this.bytes[at] = (this.bytes[at] ?? 0) | bit;
    }
  }
}

/** The blocks whose bits are set in all of the rows, in their order. */
export const blocksIn = (rows: readonly Buffer[]): readonly number[] => {
  const [first, ...others] = rows;
  const blocks: number[] = [];
  for (let byte = 0; byte < rowBytes; byte += 1) {
    let bits = first?.[byte] ?? 0;
    for (const row of others) bits &= row[byte] ?? 0;
    for (let bit = 0; bits >> bit !== 0; bit += 1) {
      if ((bits >> bit) & 1) blocks.push(byte * 8 + bit);
    }
  }
  return blocks;
};

/** The beginnings of blocks, in milliseconds since 1970, as they are stored. */
export const writeStarts = (starts: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(starts.length * 8);
  for (const [index, start] of starts.entries()) bytes.writeDoubleBE(start, index * 8);
  return bytes;
};

export const readStarts = (bytes: Buffer): readonly number[] =>
  Array.from({ length: bytes.length / 8 }, (_, index) => bytes.readDoubleBE(index * 8));

/** In SQL: the links of `projection_redirects.links` that may have had other texts before `updated_at`. */
export const mayHaveOtherTexts =
  'updated_at IS NOT NULL AND (title IS NOT NULL OR note IS NOT NULL OR original IS NOT NULL)';
