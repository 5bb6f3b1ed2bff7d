import { maxPageBytes } from '../../schemas/http/paging.js';

/** Bytes of a page around its items. */
const frameBytes = 1_000;

/** The first items of a page as JSON: as many as it has bytes for, and at least one if there is one. */
export const pageItems = (items: Iterable<object>): readonly string[] => {
  const texts: string[] = [];
  let bytes = frameBytes;
  for (const item of items) {
    const text = JSON.stringify(item);
    // With a comma.
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > maxPageBytes && texts.length > 0) break;
    texts.push(text);
  }
  return texts;
};
