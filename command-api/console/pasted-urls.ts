/** The maximum of URLs in the form: 20 calls of 50. */
export const maxUrls = 1_000;

/** The maximum of `POST /v2/shorten/batch`. */
export const batchSize = 50;

/** The trimmed lines of a text, without empty ones. */
export const pastedUrls = (text: string): readonly string[] =>
  text
    .split(/[\r\n\u2028\u2029]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '');

export const inBatches = <Item>(items: readonly Item[]): readonly (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / batchSize) }, (_, index) =>
    items.slice(index * batchSize, (index + 1) * batchSize),
  );
