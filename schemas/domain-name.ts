import { maxHostLength, parseUrl } from './parse-url.js';

/** Characters that separate a host from other parts of a URL, and white space. */
const notInHosts = /[\s/?#@:\\%[\]]/;

/**
 * The canonical form of a domain name: lower case, ASCII (UTS 46), without a trailing dot. `null` for an IP address, a
 * single label, a label with `_` (no public authority certifies it), and every text that is not a host.
 */
export const domainNameOf = (text: string): string | null => {
  if (notInHosts.test(text) || !text.isWellFormed()) return null;
  const name = parseUrl(`http://${text}/`)?.hostname.replace(/\.$/, '') ?? '';
  const isValid =
    name.length <= maxHostLength &&
    name.includes('.') &&
    // The URL Standard reads a name whose last label is a number as an IPv4 address.
    !/\.\d+$/.test(name) &&
    name.split('.').every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label));
  return isValid ? name : null;
};
