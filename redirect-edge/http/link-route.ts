import { shortCodePattern } from '../../schemas/http/shorten.js';

/** What stands behind the slash, percent-decoded; `null` where it is malformed. */
const nameOf = (path: string): string | null => {
  const name = path.slice(1);
  if (!name.includes('%')) return name;
  try {
    return decodeURIComponent(name);
  } catch {
    // Malformed percent-encoding names nothing.
    return null;
  }
};

/** The code that a path names, or `null` where it cannot be one. */
export const codeOf = (path: string): string | null => {
  const name = nameOf(path);
  return name !== null && shortCodePattern.test(name) ? name : null;
};

/** The code whose preview a path names: `/code+`. */
export const previewedCodeOf = (path: string): string | null => {
  const name = nameOf(path);
  if (!name?.endsWith('+')) return null;
  const code = name.slice(0, -1);
  return shortCodePattern.test(code) ? code : null;
};
