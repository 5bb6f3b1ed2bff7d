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
  /** What follows the first slash after the code. */
  readonly rest: PathRest | null;
}

export interface PathRest {
  readonly path: string;
  /** Whether it has only characters that are pasted after short URLs, so that every link redirects. */
  readonly isPasted: boolean;
}

/**
 * A segment that could leave the folder of the destination, also with a parameter (`..;`), or is empty; and what decoders
 * take for a separator.
 */
const unsafePath = /(?:^|\/)(?:(?:\.|%2e){1,2}(?:(?:;|%3b)[^/]*)?)?(?:\/|$)|%2f|%5c|\\/i;

/** The path that a link forwards, in ASCII; `null`: none may forward it. It may end with a slash. */
export const forwardedPath = (path: string): string | null => {
  if (unsafePath.test(path.replace(/\/$/, ''))) return null;
  return path.replace(
    /[^\x21-\x7e]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
};

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

/** The link that a whole path names, with or without the `+` of its preview; `null` if there is none. */
const linkOfWhole = (name: string): Omit<LinkName, 'rest'> | null => {
  const pasted = withoutTrailing(name, trailing);
  const previewed = pasted.endsWith('+');
  const text = previewed ? pasted.slice(0, -1) : name;
  const texts = new Set(
    [separator, punctuation, trailing].map((end) => withoutTrailing(text, end)),
  );
  const [code, ...others] = [...texts].flatMap((candidate) => linkCodeOf(candidate) ?? []);
  return code === undefined ? null : { codes: [code, ...others], previewed };
};

/** The link of a path; `null` if there is none. */
export const linkNameIn = (path: string): LinkName | null => {
  const plain = path.slice(1);
  // The usual case.
  if (aliasPattern.test(plain) && !plain.endsWith('_')) {
    return { codes: [plain], previewed: false, rest: null };
  }
  const name = nameIn(path);
  const whole = name === null ? null : linkOfWhole(name);
  const slash = plain.indexOf('/');
  const following = slash < 0 ? '' : plain.slice(slash + 1);
  if (whole) {
    const hasRest = following !== '' && !whole.previewed;
    return { ...whole, rest: hasRest ? { path: following, isPasted: true } : null };
  }
  const code = linkCodeOf(nameIn(path.slice(0, slash + 1)) ?? '');
  if (following === '' || code === null) return null;
  return { codes: [code], previewed: false, rest: { path: following, isPasted: false } };
};

/** The route of a path, for metrics. */
export const routeOf = (path: string): string => {
  if (fixedPaths.has(path)) return path;
  const name = linkNameIn(path);
  return name ? `/:shortCode${name.previewed ? '+' : ''}` : 'other';
};
