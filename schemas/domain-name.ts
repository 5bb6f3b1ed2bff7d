import { maxHostLength, parseUrl } from './parse-url.js';

/** Characters that separate a host from other parts of a URL, and white space. */
const notInHosts = /[\s/?#@:\\%[\]]/;
const ipv6Address = /^\[[\da-f:.]+\]$/i;

/**
 * The canonical form of a host: lower case, ASCII (UTS 46), without a trailing dot; an IPv6 address is in brackets.
 * `null` for every text that is not a host.
 */
export const hostNameOf = (text: string): string | null => {
  const isHost = !notInHosts.test(text) || ipv6Address.test(text);
  if (!isHost || !text.isWellFormed()) return null;
  const name = parseUrl(`http://${text}/`)?.hostname.replace(/\.$/, '') ?? '';
  const isValid =
    name.length <= maxHostLength &&
    (name.startsWith('[') || name.split('.').every((label) => /^[a-z0-9_-]{1,63}$/.test(label)));
  return isValid ? name : null;
};

/**
 * The canonical form of a name that can be an account's domain. `null` for an IP address, a single label, and a label
 * with `_` (no public authority certifies it).
 */
export const domainNameOf = (text: string): string | null => {
  const name = hostNameOf(text);
  const isValid =
    name?.includes('.') === true &&
    // The URL Standard reads a name whose last label is a number as an IPv4 address.
    !/\.\d+$/.test(name) &&
    name.split('.').every((label) => /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(label));
  return isValid ? name : null;
};
