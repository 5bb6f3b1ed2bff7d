/** The destination of a link, as users type it. */
import { utmNames, type UtmName } from '../../schemas/utm.js';

/** A host with a dot or `localhost`, and what may follow it. */
const hostFirst =
  /^(?:\/\/)?(?:[^\s/?#:@\\.]+(?:\.[^\s/?#:@\\.]+)+|localhost)\.?(?::\d+)?(?:[/?#]|$)/i;

/** A trimmed destination, with `https://` before a host without a scheme. */
export const withScheme = (text: string): string => {
  const url = text.trim();
  return hostFirst.test(url) ? `https://${url.replace(/^\/\//, '')}` : url;
};

export type UtmValues = Readonly<Partial<Record<UtmName, string>>>;

/** Sets the parameters that have a value. Everything else of the URL stays as it is. */
export const withUtm = (url: string, values: UtmValues): string => {
  const set = utmNames.flatMap((name) => {
    const value = values[name]?.trim() ?? '';
    return value === '' ? [] : [[`utm_${name}`, value] as const];
  });
  if (url === '' || set.length === 0) return url;
  const [, base = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(url) ?? [];
  const others = query
    .slice(1)
    .split('&')
    .filter((part) => part !== '' && set.every(([name]) => part.split('=', 1)[0] !== name));
  const added = set.map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `${base}?${[...others, ...added].join('&')}${fragment}`;
};

/** Code for the bookmarks bar: opens the form of a new link for the current page. */
export const bookmarkletOf = (origin: string): string =>
  `javascript:void open('${origin}/console/new?url='+encodeURIComponent(location.href)+` +
  `'&title='+encodeURIComponent(document.title))`;
