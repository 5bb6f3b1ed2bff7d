const isAscii = /^[\0-\x7f]*$/;

/** ẞ and İ need the first step, ß the second, ﬃ the last two. */
const foldCase = (text: string): string => text.toLowerCase().toUpperCase().toLowerCase();

/**
 * The text in NFC after Unicode default case folding, for comparisons. A final sigma folds to `σ`, so that a part of a
 * text is a part of the folded text. `ı` folds to itself, although its upper case is `I`.
 */
export const foldText = (text: string): string =>
  isAscii.test(text)
    ? text.toLowerCase()
    : text
        .normalize('NFC')
        .split('ı')
        .map(foldCase)
        .join('ı')
        .replaceAll('ς', 'σ')
        .normalize('NFC');
