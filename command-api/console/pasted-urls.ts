/** So many URLs the form takes at once: 20 calls of 50. */
export const mostUrls = 1_000;

/** The most that one call of `POST /v2/shorten/batch` takes. */
export const batchSize = 50;

/** The lines of what was pasted, trimmed, without empty ones. Each becomes a link, right or wrong. */
export const pastedUrls = (text: string): readonly string[] =>
  text
    .split(/[\r\n\u2028\u2029]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

export const inBatches = <Item>(items: readonly Item[]): readonly (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / batchSize) }, (_, index) =>
    items.slice(index * batchSize, (index + 1) * batchSize),
  );
