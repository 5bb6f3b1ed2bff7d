import { shortCodePattern } from '../../schemas/http/shorten.js';

/** Never codes. */
export const fixedPaths: ReadonlySet<string> = new Set([
  '/',
  '/robots.txt',
  '/favicon.ico',
  '/health',
  '/health/ready',
]);

/** The code that a path names, with or without the `+` of its preview; `null` where it names none. */
export const codeIn = (
  path: string,
): { readonly code: string; readonly previewed: boolean } | null => {
  let name = path.slice(1);
  try {
    if (name.includes('%')) name = decodeURIComponent(name);
  } catch {
    return null;
  }
  const previewed = name.endsWith('+');
  const code = previewed ? name.slice(0, -1) : name;
  return shortCodePattern.test(code) ? { code, previewed } : null;
};

/** The pattern that a path falls under, for the metrics. */
export const routeOf = (path: string): string => {
  if (fixedPaths.has(path)) return path;
  const named = codeIn(path);
  return named ? `/:shortCode${named.previewed ? '+' : ''}` : 'other';
};
