/** A normalised URL, for comparison with lists. */
export interface CanonicalUrl {
  /** Lower case, punycode, without a trailing dot; IPv6 in brackets. */
  readonly host: string;
  /** Empty for the default of either scheme. */
  readonly port: string;
  /** Path and query, unescaped until nothing changes, then escaped once. */
  readonly path: string;
}

const percent = 0x25;

/** The value of a hexadecimal digit by its character code; -1 for other characters. */
const hexValues = Int8Array.from({ length: 256 }, (_, code) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(code).toLowerCase()),
);

/**
 * Unescapes `%XX` until nothing changes. Each character is appended to the result, and an escape at its end is replaced
 * by its character, which may complete another one: so the steps are linear in the length. The order of replacements
 * does not matter, because escapes do not overlap.
 *
 * @param text ASCII: the parser writes all other characters as escapes, so one character is one byte here
 */
export const unescapeFully = (text: string): string => {
  if (!text.includes('%')) return text;
  const bytes = Buffer.from(text, 'latin1');
  let length = 0;
  for (const byte of bytes) {
    bytes[length] = byte;
    length += 1;
    while (length >= 3 && bytes[length - 3] === percent) {
      const high = hexValues[bytes[length - 2] ?? 0] ?? -1;
      const low = hexValues[bytes[length - 1] ?? 0] ?? -1;
      if (high < 0 || low < 0) break;
      length -= 2;
      bytes[length - 1] = high * 16 + low;
    }
  }
  return bytes.toString('latin1', 0, length);
};

const escapeOnce = (text: string): string =>
  text.replace(
    /[^\x21-\x7e]|[#%]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );

/** Resolves dots and slashes again, because the URL parser did not see the escaped ones. */
const resolvePath = (path: string): string => {
  const parts = path
    .replace(/\/{2,}/g, '/')
    .split('/')
    .slice(1);
  const resolved: string[] = [];
  parts.forEach((part, index) => {
    const last = index === parts.length - 1;
    if (part === '..') resolved.pop();
    else if (part !== '.') resolved.push(part);
    if (last && (part === '.' || part === '..')) resolved.push('');
  });
  return `/${resolved.join('/')}`;
};

const defaultPorts = new Set(['', '80', '443']);

/** The host of the canonical URL, in a tenth of the time. */
export const canonicalHost = ({ hostname }: URL): string =>
  hostname.toLowerCase().replace(/(?<!\.)\.+$/, '');

/**
 * Follows the canonicalisation of Safe Browsing (developers.google.com/safe-browsing/v4/urls-hashing), but ignores the
 * scheme and the default ports of both schemes.
 */
export const canonicalUrl = (url: URL): CanonicalUrl => ({
  host: canonicalHost(url),
  port: defaultPorts.has(url.port) ? '' : url.port,
  path:
    escapeOnce(resolvePath(unescapeFully(url.pathname))) + escapeOnce(unescapeFully(url.search)),
});
