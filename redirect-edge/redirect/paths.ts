import { shortCodePattern } from '../../schemas/http/shorten.js';
import { invisible } from '../../schemas/trim-invisible.js';

/** Never codes. */
export const fixedPaths: ReadonlySet<string> = new Set([
  '/',
  '/robots.txt',
  '/favicon.ico',
  '/health',
  '/health/ready',
]);

/** Whether a text can be the code of a link. */
export const isCode = (text: string): boolean =>
  shortCodePattern.test(text) && !fixedPaths.has(`/${text}`);

/** What a path names: a link, or its preview. */
export interface LinkName {
  /** The code as requested, as far as it can be one, then the code without what was pasted behind it. */
  readonly codes: readonly [string, ...string[]];
  readonly previewed: boolean;
}

/** What follows a short URL where it is copied: punctuation, markup, white space, invisible characters. */
const punctuation = new RegExp(`[/.,;:!?)\\]}>'"”’»*~]|${invisible.source}`);
/** The same with the one that codes may have at their end. */
const trailing = new RegExp(`${punctuation.source}|_`);

/** A pattern that is anchored at the end would take quadratic time. */
const withoutTrailing = (text: string, character: RegExp): string => {
  let end = text.length;
  while (end > 0 && character.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
};

/** The text behind a path's slash; `null` if it is not percent-encoded UTF-8. */
const nameIn = (path: string): string | null => {
  try {
    return decodeURIComponent(path.slice(1));
  } catch {
    // Malformed percent-encoding names no link.
    return null;
  }
};

/** The link that a path names, with or without the `+` of its preview; `null` if it names none. */
export const linkNameIn = (path: string): LinkName | null => {
  const plain = path.slice(1);
  // Nearly all paths.
  if (shortCodePattern.test(plain) && !plain.endsWith('_'))
    return { codes: [plain], previewed: false };
  const name = nameIn(path);
  if (name === null) return null;
  const pasted = withoutTrailing(name, trailing);
  const previewed = pasted.endsWith('+');
  const text = previewed ? pasted.slice(0, -1) : name;
  const candidates = [punctuation, trailing].map((end) => withoutTrailing(text, end));
  const [code, ...others] = [...new Set(candidates)].filter(isCode);
  return code === undefined ? null : { codes: [code, ...others], previewed };
};

/** The pattern that a path falls under, for the metrics. */
export const routeOf = (path: string): string => {
  if (fixedPaths.has(path)) return path;
  const name = linkNameIn(path);
  return name ? `/:shortCode${name.previewed ? '+' : ''}` : 'other';
};
