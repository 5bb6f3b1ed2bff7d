import { hostNameOf } from './domain-name.js';
import { edgeRoutes } from './edge-routes.js';

export interface LinkIdentity {
  /** Lower-case ASCII host without port; `null`: the default domain. */
  readonly domain: string | null;
  readonly code: string;
}

/**
 * The code in lower case and NFC: each code point is replaced by its simple lower-case mapping, from which the full one of
 * `toLowerCase` differs for `İ` and a final `Σ`. Letters can compose that did not before: `H` with U+0331, for example.
 */
export const foldCode = (code: string): string =>
  code.replaceAll('İ', 'i').replaceAll('Σ', 'σ').toLowerCase().normalize('NFC');

/** Whether letters of either case are the same in the codes of a domain; `null`: the default domain. */
export type IgnoresCase = (domain: string | null) => boolean;

/** A code as its domain stores it. The folded text is not always a code: `HEALTH`, or the emoji `Ⓜ`. */
export const codeOn = (domain: string | null, code: string, ignoresCase: IgnoresCase): string =>
  ignoresCase(domain) ? foldCode(code) : code;

/**
 * The subject of a link's events: `code` on the default domain, otherwise `domain/code`. No code contains a slash.
 *
 * @param ignoresCase for the code of a request; by default, the code is that of a link
 */
export const subjectOf = (
  { domain, code }: LinkIdentity,
  ignoresCase: IgnoresCase = () => false,
): string => {
  const stored = codeOn(domain, code, ignoresCase);
  return domain === null ? stored : `${domain}/${stored}`;
};

export const linkOfSubject = (subject: string): LinkIdentity => {
  const slash = subject.indexOf('/');
  return slash < 0
    ? { domain: null, code: subject }
    : { domain: subject.slice(0, slash), code: subject.slice(slash + 1) };
};

/** The subjects of a domain are between these two texts in the order of their bytes. */
export const subjectRangeOf = (domain: string): readonly [after: string, before: string] => [
  `${domain}/`,
  // The character after the slash.
  `${domain}0`,
];

/** Compares two subjects by their bytes in UTF-8, as PostgreSQL does. The order of UTF-16 differs for emoji. */
export const compareSubjects = (a: string, b: string): number => {
  let at = 0;
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1);
};

/** The aliases that clients may choose. Generated codes match it too; codes of imported links need not. */
export const aliasPattern = /^[A-Za-z0-9_-]{3,50}$/;

/** In code points: a code has at most 760 bytes in UTF-8, and 2,280 in a URL. */
export const maxCodeLength = 190;

/**
 * The longest text that is normalised, in code points. A code point decomposes into at most four (Unicode FAQ on
 * normalization). Normalization takes quadratic time if many marks follow each other.
 */
const maxDecomposedLength = 4 * maxCodeLength;

/** Whether a text has at most `max` code points, each of one or two UTF-16 units. */
const isWithin = (text: string, max: number): boolean =>
  text.length <= max || (text.length <= 2 * max && Array.from(text).length <= max);

/** No two alternatives match the same text, so a match takes linear time. */
const codePattern = new RegExp(
  `^(?:${[
    // Variation selectors and the keycap U+20E3 are marks. `#` and `*` are emoji only as keycaps.
    String.raw`(?![#*])[\p{L}\p{M}\p{Nd}\p{Emoji}_.~-]`,
    String.raw`[#*]\uFE0F?\u20E3`,
    // A zero-width joiner between the emoji that it joins.
    String.raw`(?<=\p{ExtPict}[\p{EMod}\uFE0F]?)\u200D(?=\p{ExtPict})`,
    // The flag of England, for example: after a black flag, a region in tag characters, and the end of the tag.
    String.raw`(?<=\u{1F3F4})[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]{3,6}\u{E007F}`,
  ].join('|')})+$`,
  'u',
);

const notCodes: ReadonlySet<string> = new Set(['.', '..', ...edgeRoutes]);

/**
 * The code that a text is, in NFC; `null` if no link can have it. A code has 1 to 190 letters, marks, digits, emoji,
 * `-`, `_`, `.` and `~`, and is neither a path segment with a meaning of its own nor a route of the edge.
 */
export const linkCodeOf = (text: string): string | null => {
  // The usual case.
  if (aliasPattern.test(text)) return notCodes.has(text) ? null : text;
  if (!isWithin(text, maxDecomposedLength)) return null;
  const code = text.normalize('NFC');
  const isCode = codePattern.test(code) && isWithin(code, maxCodeLength) && !notCodes.has(code);
  return isCode ? code : null;
};

/** The path of a code in URLs: percent-encoded, except for ASCII. */
export const pathOfCode = (code: string): string => `/${encodeURIComponent(code)}`;

/** The name of the default domain, which requests may use. */
export const defaultDomainOf = (defaultHost: string | null): string | null =>
  defaultHost === null ? null : hostNameOf(new URL(defaultHost).hostname);

/** The domain of a filter, in which an empty name is the default domain, and `null` all domains. */
export const filteredDomain = (name: string | null, defaultDomain: string | null): string | null =>
  name !== null && name === defaultDomain ? '' : name;

/**
 * The short URL of a link.
 *
 * @param defaultHost scheme and host of the default domain, such as `https://go.example.com`
 */
export const shortUrlOf = (subject: string, defaultHost: string): string => {
  const { domain, code } = linkOfSubject(subject);
  const scheme = defaultHost.slice(0, defaultHost.indexOf(':'));
  return (domain === null ? defaultHost : `${scheme}://${domain}`) + pathOfCode(code);
};
