import { aliasPattern, linkCodeOf } from '../../schemas/link-subject.js';
import { edgeRoutes } from '../../schemas/edge-routes.js';
import { invisible } from '../../schemas/trim-invisible.js';

/** Paths that are never short codes. */
export const fixedPaths: ReadonlySet<string> = new Set(
  ['', ...edgeRoutes].map((route) => `/${route}`),
);

/** A path of a link or of its preview. */
export interface LinkName {
  /** Candidates: the requested code, then the code without the characters that were pasted after it. */
  readonly codes: readonly [string, ...string[]];
  readonly previewed: boolean;
}

/**
 * Characters that are copied together with a short URL: punctuation, markup, white space, invisible characters. No code
 * ends with one of these.
 */
const separator = new RegExp(`[/,;:!?)\\]}>'"”’»*]|${invisible.source}`);
/** The same, and characters of codes that are usually punctuation. */
const punctuation = new RegExp(`${separator.source}|[.~]`);
/** The same, and `_`, which is markup at the end of a text, but frequent in codes. */
const trailing = new RegExp(`${punctuation.source}|_`);

/** Not by a pattern that is anchored at the end, which would take quadratic time. */
const withoutTrailing = (text: string, character: RegExp): string => {
  let end = text.length;
  while (end > 0 && character.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
};

/** The text after the slash; `null` if it is not percent-encoded UTF-8. */
const nameIn = (path: string): string | null => {
  try {
    return decodeURIComponent(path.slice(1));
  } catch {
    // Malformed percent-encoding names no link.
    return null;
  }
};

/** The link of a path, with or without the `+` of its preview; `null` if there is none. */
export const linkNameIn = (path: string): LinkName | null => {
  const plain = path.slice(1);
  // The usual case.
  if (aliasPattern.test(plain) && !plain.endsWith('_')) return { codes: [plain], previewed: false };
  const name = nameIn(path);
  if (name === null) return null;
  const pasted = withoutTrailing(name, trailing);
  const previewed = pasted.endsWith('+');
  const text = previewed ? pasted.slice(0, -1) : name;
  const texts = new Set(
    [separator, punctuation, trailing].map((end) => withoutTrailing(text, end)),
  );
  const [code, ...others] = [...texts].flatMap((candidate) => linkCodeOf(candidate) ?? []);
  return code === undefined ? null : { codes: [code, ...others], previewed };
};

/** The route of a path, for metrics. */
export const routeOf = (path: string): string => {
  if (fixedPaths.has(path)) return path;
  const name = linkNameIn(path);
  return name ? `/:shortCode${name.previewed ? '+' : ''}` : 'other';
};
