/** Bytes of a page: 1 MB, less what stands around its items. */
const maxItemBytes = 999_000;

/** The items of a page as JSON: the first ones, as many as the page may have bytes for, and at least one. */
export const pageItems = (items: Iterable<object>): readonly string[] => {
  const texts: string[] = [];
  let bytes = 0;
  for (const item of items) {
    const text = JSON.stringify(item);
    // With a comma.
    bytes += Buffer.byteLength(text) + 1;
    if (bytes > maxItemBytes && texts.length > 0) break;
    texts.push(text);
  }
  return texts;
};
