import { toASCII } from 'tr46';

/** Scheme, domain and port of an http(s) URL. IP addresses in brackets and user information do not match. */
const authority = /^(https?:\/\/)([^/\\?#@:[\]]+)(:\d*)?(?=[/\\?#]|$)/i;
/** Domains that need more than lower case to be converted to ASCII. */
const needsConversion = /[^\0-\x7f]|%|xn--/i;
/** The forbidden domain code points of the URL Standard. */
const forbidden = /[\0-\x20"#%/:<>?@[\\\]^`{|}\x7f]/;
/** The longest domain name, without a trailing dot (RFC 1035). Punycode takes quadratic time. */
export const maxHostLength = 253;

const percentDecoded = (text: string): string | null => {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not UTF-8, or `%` without two digits: not a valid domain.
    return null;
  }
};

/** "Domain to ASCII" of the URL Standard: nontransitional UTS 46. `null` for an invalid domain. */
const asciiDomain = (domain: string): string | null => {
  const decoded = percentDecoded(domain);
  if (decoded === null || decoded.length > maxHostLength || !decoded.isWellFormed()) return null;
  const ascii = toASCII(decoded, { checkBidi: true, checkJoiners: true });
  return ascii === null || ascii === '' || forbidden.test(ascii) ? null : ascii;
};

/** The URL with its domain in ASCII, so that Node does not convert it; `null` for an invalid domain. */
const withAsciiDomain = (text: string): string | null => {
  const [whole, scheme = '', domain = '', port = ''] = authority.exec(text) ?? [];
  if (whole === undefined || !needsConversion.test(domain)) return text;
  const ascii = asciiDomain(domain);
  return ascii === null ? null : scheme + ascii + port + text.slice(whole.length);
};

/**
 * Parses a URL; `null` if it is invalid. Domains are converted by the UTS 46 of `tr46`, so that the result does not
 * depend on the version of Node: Node 20 and 22 have Unicode 15.0, which maps a capital sharp s to `ss`.
 *
 * `URL.canParse` is not used: in Node 20, once it is optimised, it rejects texts with Latin-1 letters
 * (`http://ü.example/`).
 */
export const parseUrl = (text: string): URL | null => {
  const converted = withAsciiDomain(text);
  if (converted === null) return null;
  try {
    return new URL(converted);
  } catch {
    return null;
  }
};

/** The scheme of a URL, in lower case without the colon; empty if it has none. */
export const schemeOf = (url: string): string =>
  /^([a-z][a-z\d+.-]*):/i.exec(url)?.[1]?.toLowerCase() ?? '';

/** Parses a stored destination. An old one may have a domain that UTS 46 no longer allows. */
export const parseDestination = (destination: string): URL =>
  parseUrl(destination) ?? new URL(destination);
