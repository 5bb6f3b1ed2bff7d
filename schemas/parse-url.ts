import { toASCII } from 'tr46';

/** Scheme, domain and port of an http(s) URL. IP addresses in brackets and user information do not match. */
const authority = /^(https?:\/\/)([^/\\?#@:[\]]+)(:\d*)?(?=[/\\?#]|$)/i;
/** Domains that are not converted to ASCII by changing their case. */
const needsConversion = /[^\0-\x7f]|%|xn--/i;
/** The forbidden domain code points of the URL Standard. */
const forbidden = /[\0-\x20"#%/:<>?@[\\\]^`{|}\x7f]/;
/** Of a domain name, without a trailing dot (RFC 1035). Punycode takes time that is quadratic in it. */
export const maxHostLength = 253;

const percentDecoded = (text: string): string | null => {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not UTF-8, or `%` without two digits: no domain has either.
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

/** The URL with its domain in ASCII, so that Node's own tables are not used; `null` for an invalid domain. */
const withAsciiDomain = (text: string): string | null => {
  const [whole, scheme = '', domain = '', port = ''] = authority.exec(text) ?? [];
  if (whole === undefined || !needsConversion.test(domain)) return text;
  const ascii = asciiDomain(domain);
  return ascii === null ? null : scheme + ascii + port + text.slice(whole.length);
};

/**
 * A text as a URL; `null` if it is none. Domains are converted by the UTS 46 of `tr46`, so that all nodes agree: the
 * tables of Node 20 and 22 are those of Unicode 15.0, which has `ss` for a capital sharp s.
 *
 * Not by `URL.canParse`: in Node 20, once it is optimised, it refuses texts with Latin-1 letters
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

/** A stored destination as a URL. One of an older version may have a domain that UTS 46 no longer allows. */
export const parseDestination = (destination: string): URL =>
  parseUrl(destination) ?? new URL(destination);
