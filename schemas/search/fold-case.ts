/**
 * A text without upper and lower case: texts that differ in nothing else become the same one. Parts become parts,
 * whatever stands beside them, so the small sigma at the end of a word is like any other.
 */
export const foldCase = (text: string): string =>
  text.toUpperCase().toLowerCase().replaceAll('ς', 'σ');
