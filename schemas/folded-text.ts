import { parseUrl } from './parse-url.js';

const isAscii = /^[\0-\x7f]*$/;

/** ẞ and İ change in the first step alone, ß in the second, ﬃ in the last two. */
const foldCase = (text: string): string => text.toLowerCase().toUpperCase().toLowerCase();

/**
 * A text in NFC after Unicode default case folding: texts are compared in this form. As a part of a text stays a part,
 * the small sigma at the end of a word is like any other. `ı` folds to itself, although its upper case is `I`.
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

/** The text of a link that begins the host of a destination. */
export const hostText = (host: string): string => `://${host}`;

/** What of a link is searched. */
export interface SearchedTexts {
  readonly code: string;
  readonly url: string;
  readonly title: string | null;
  readonly note: string | null;
  readonly tags: readonly string[] | null;
}

/** URLs with a host that parsers only change the case of. Parsing would take half of the time of a fold. */
const plainHost = /^https?:\/\/(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*(?::\d*)?(?:[/?#]|$)/i;

/**
 * The folded texts of a link, one after the other. No term of a search has white space, so none spans two of them. A
 * host that the destination has in another form (`http://BÜCHER.example`) is also there as URLs are parsed.
 */
export const foldedTextOf = ({ code, url, title, note, tags }: SearchedTexts): string => {
  const texts = [code, url, title ?? '', note ?? '', ...(tags ?? [])].filter((text) => text !== '');
  const folded = foldText(texts.join('\n'));
  if (plainHost.test(url)) return folded;
  const host = parseUrl(url)?.hostname;
  return host === undefined || folded.includes(hostText(host))
    ? folded
    : `${folded}\n${hostText(host)}`;
};
