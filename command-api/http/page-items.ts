import { maxPageBytes } from '../../schemas/http/paging.js';

/** Bytes of a page without its items. */
const frameBytes = 1_000;

/** The first items as JSON, up to the size limit of a page; at least one if there is one. */
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
