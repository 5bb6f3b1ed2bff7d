/** Former codes of ISO 639-1, which some browsers still send. */
const renamed: ReadonlyMap<string, string> = new Map([
  ['iw', 'he'],
  ['in', 'id'],
  ['ji', 'yi'],
]);

const notLanguages: ReadonlySet<string> = new Set(['und', 'mul']);

/** The language of a primary subtag in lower case, such as `de`; `null` if a visit cannot have it. */
export const languageOfSubtag = (subtag: string): string | null =>
  /^[a-z]{2,3}$/.test(subtag) && !notLanguages.has(subtag) ? (renamed.get(subtag) ?? subtag) : null;
