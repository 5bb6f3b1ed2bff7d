import { parseUrl } from '../parse-url.js';
import { foldCase } from './fold-case.js';

/** What of a link can be searched. */
export interface SearchTexts {
  readonly code: string;
  readonly url: string;
  readonly title: string | null;
  readonly note: string | null;
}

/** Enough that parts which no link has seldom share their value with parts that many have. */
export const hashBits = 20;

/** Adds the hashes of all three characters that follow each other in a text, as UTF-16 has them. */
const addHashes = (hashes: Set<number>, folded: string): void => {
  for (let at = 0; at + 3 <= folded.length; at += 1) {
    let hash = folded.charCodeAt(at);
    hash = Math.imul(hash, 0x01000193) ^ folded.charCodeAt(at + 1);
    hash = Math.imul(hash, 0x01000193) ^ folded.charCodeAt(at + 2);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    hashes.add((hash ^ (hash >>> 12)) >>> (32 - hashBits));
  }
};

const hostText = (host: string): string => `://${host}`;

/** The hashes that a link must have to match a search: the part in a text, and the host that it leads to. */
export const hashesOfQuery = (
  part: string | undefined,
  host: string | undefined,
): ReadonlySet<number> => {
  const hashes = new Set<number>();
  if (part !== undefined) addHashes(hashes, foldCase(part));
  if (host !== undefined) addHashes(hashes, hostText(host));
  return hashes;
};

/** The hashes that links have in their texts. */
export const hashesOfLinks = (links: readonly SearchTexts[]): ReadonlySet<number> => {
  const hashes = new Set<number>();
  for (const { code, url, title, note } of links) {
    const folded = foldCase(url);
    addHashes(hashes, folded);
    addHashes(hashes, foldCase(code));
    if (title !== null) addHashes(hashes, foldCase(title));
    if (note !== null) addHashes(hashes, foldCase(note));
    const host = parseUrl(url)?.hostname;
    if (host !== undefined && !folded.includes(hostText(host))) addHashes(hashes, hostText(host));
  }
  return hashes;
};

/** In SQL: the links of `projection_redirects.links` that may have had other texts before `updated_at`. */
export const mayHaveOtherTexts =
  'updated_at IS NOT NULL AND (title IS NOT NULL OR note IS NOT NULL OR original IS NOT NULL)';
