import { shortCodePattern } from '../../schemas/http/shorten.js';

/** What a path names below the edge's root. */
export type LinkRoute =
  { readonly type: 'link' | 'preview'; readonly code: string } | { readonly type: 'none' };

const none: LinkRoute = { type: 'none' };

/** `/code`, or `/code+` for its preview; either may be percent-encoded. */
export const linkRoute = (path: string): LinkRoute => {
  let name = path.slice(1);
  if (name.includes('%')) {
    try {
      name = decodeURIComponent(name);
    } catch {
      // Malformed percent-encoding names no code.
      return none;
    }
  }
  if (shortCodePattern.test(name)) return { type: 'link', code: name };
  const code = name.slice(0, -1);
  return name.endsWith('+') && shortCodePattern.test(code) ? { type: 'preview', code } : none;
};
