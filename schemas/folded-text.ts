import { foldText } from './fold-text.js';
import { parseUrl } from './parse-url.js';
import { linkOfSubject } from './link-subject.js';
import { destinationsOf, type LeadingLink } from './link-options.js';

export { foldText };

/** The folded text before and including the host of a destination. */
export const hostText = (host: string): string => `://${host}`;

interface SearchedTexts extends LeadingLink {
  readonly subject: string;
  readonly title: string | null;
  readonly note: string | null;
  readonly tags: readonly string[] | null;
  /** The subjects of further codes. */
  readonly codes: readonly string[] | null;
}

/** URLs whose parsed host differs only in case. Parsing would take half of the time of folding. */
const plainHost = /^https?:\/\/(?:[a-z0-9-]+\.)*[a-z][a-z0-9-]*(?::\d*)?(?:[/?#]|$)/i;

/**
 * The folded texts of a link, separated by line feeds. Terms of a search have no white space, so no term matches across
 * two texts. If the parsed host of a
 * destination differs (`http://BÜCHER.example`), it is added.
 */
export const foldedTextOf = (link: SearchedTexts): string => {
  const { subject, title, note, tags } = link;
  const codes = [subject, ...(link.codes ?? [])].map((text) => linkOfSubject(text).code);
  const urls = new Set(destinationsOf(link));
  const texts = [...codes, ...urls, title ?? '', note ?? '', ...(tags ?? [])].filter(
    (text) => text !== '',
  );
  let folded = foldText(texts.join('\n'));
  for (const url of urls) {
    const host = plainHost.test(url) ? undefined : parseUrl(url)?.hostname;
    if (host && !folded.includes(hostText(host))) folded += `\n${hostText(host)}`;
  }
  return folded;
};
